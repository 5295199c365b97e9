import type { IncomingMessage } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocketServer } from 'ws';
import { render, type Answer } from './answer.js';
import type { WritableCall } from './call.js';
import { Channel } from './channel.js';
import type { FaultEffect } from './fault.js';
import { pause } from './pause.js';

/** What came with the request for a WebSocket. */
export interface RawUpgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** The client got something else than a WebSocket: a fault, or it went away. */
export class UpgradeAbandoned extends Error {}

/** One request for a WebSocket at a route. Until `accept` a `Refusal` that is thrown is its answer. */
export class Upgrade {
  #settled = false;

  constructor(
    readonly call: WritableCall,
    readonly params: Readonly<Record<string, string>>,
    private readonly raw: RawUpgrade,
    private readonly sockets: WebSocketServer,
    private readonly fault: FaultEffect,
    /** Aborted when the emulator closes. */
    readonly closing: AbortSignal,
  ) {}

  get query(): URLSearchParams {
    return this.call.query;
  }

  get headers(): IncomingMessage['headers'] {
    return this.raw.request.headers;
  }

  /**
   * Completes the handshake.
   *
   * @throws {UpgradeAbandoned} there is no client on the other end: what was done for it stays done
   */
  async accept(headers: Readonly<Record<string, string>> = {}): Promise<Channel> {
    if (this.fault.delayMs !== undefined) await pause(this.fault.delayMs, this.closing);
    await this.fail(0);
    const { request, socket, head } = this.raw;
    if (socket.destroyed) throw new UpgradeAbandoned('the client went away');
    this.#settled = true;
    this.call.status = 101;
    const addHeaders = (lines: string[]) => lines.push(...Object.entries(headers).map(([k, v]) => `${k}: ${v}`));
    this.sockets.once('headers', addHeaders);
    return await new Promise((resolve, reject) => {
      socket.once('close', () => reject(new UpgradeAbandoned('the handshake was not completed')));
      // It completes within the call, so that the listener above is this request's.
      this.sockets.handleUpgrade(request, socket, head, (webSocket) => {
        resolve(new Channel(webSocket, this.call, this.fault, this.closing));
      });
      this.sockets.off('headers', addHeaders);
    });
  }

  /**
   * Lets a fault take the place of the handshake, if there is one.
   *
   * @throws {UpgradeAbandoned} it did
   */
  async fail(delayMs = this.fault.delayMs ?? 0): Promise<void> {
    if (!this.fault.reset && !this.fault.answer) return;
    await pause(delayMs, this.closing);
    if (this.fault.reset) this.reset();
    else this.refuse(this.fault.answer!);
    throw new UpgradeAbandoned('a fault took the place of the handshake');
  }

  /** A plain HTTP answer in the place of the WebSocket. */
  refuse(answer: Answer): void {
    if (this.#settled) return;
    this.#settled = true;
    const { status, headers, body } = render(answer);
    this.call.status = status;
    const all = { ...headers, 'content-length': String(body.length), connection: 'close' };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${lines.join('')}\r\n`;
    this.raw.socket.end(Buffer.concat([Buffer.from(head), body]));
  }

  reset(): void {
    this.#settled = true;
    const { socket } = this.raw;
    if ('resetAndDestroy' in socket) (socket as Duplex & { resetAndDestroy(): void }).resetAndDestroy();
    else socket.destroy();
  }
}
