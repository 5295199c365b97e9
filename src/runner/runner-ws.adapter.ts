import type { EventEmitter } from 'node:events';
import { createServer, STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WsAdapter } from '@nestjs/platform-ws';
import type { MessageMappingProperties } from '@nestjs/websockets';
import type { Observable } from 'rxjs';
import type { WebSocketServer } from 'ws';

type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/**
 * Nest's `WsAdapter`, except that frames for gateways without message handlers are not parsed a second time, that an
 * upgrade on an unknown path is answered with 404, or left to others who listen for it, and that a peer's bad frame is
 * no error in the log.
 */
export class RunnerWsAdapter extends WsAdapter {
  readonly #listeners = new Map<Server, UpgradeListener>();

  override bindMessageHandlers(
    client: EventEmitter,
    handlers: MessageMappingProperties[],
    transform: (data: unknown) => Observable<unknown>,
  ): void {
    if (handlers.length > 0) super.bindMessageHandlers(client, handlers, transform);
  }

  override async dispose(): Promise<void> {
    for (const [server, listener] of this.#listeners) server.off('upgrade', listener);
    this.#listeners.clear();
    await super.dispose();
  }

  override bindErrorHandler(server: EventEmitter): EventEmitter {
    // `ws` emits an error for every violation of the protocol and closes by itself.
    server.on('connection', (client: EventEmitter) => client.on('error', () => {}));
    server.on('error', (error) => this.logger.error(error));
    return server;
  }

  protected override ensureHttpServerExists(port: number, server: Server = createServer()): Server | undefined {
    if (this.httpServersRegistry.has(port)) return undefined;
    this.httpServersRegistry.set(port, server);
    const listener: UpgradeListener = (request, socket, head) => this.#upgrade(port, server, request, socket, head);
    server.on('upgrade', listener);
    this.#listeners.set(server, listener);
    return server;
  }

  #upgrade(port: number, server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const path = (request.url ?? '/').split('?', 1)[0];
    const servers = (this.wsServersRegistry.get(port) ?? []) as (WebSocketServer & { path: string })[];
    const target = servers.find((candidate) => candidate.path === path);
    if (target !== undefined) {
      target.handleUpgrade(request, socket, head, (client) => target.emit('connection', client, request));
    } else if (server.listenerCount('upgrade') === 1) {
      socket.on('error', () => {});
      socket.end(`HTTP/1.1 404 ${STATUS_CODES[404]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    }
  }
}
