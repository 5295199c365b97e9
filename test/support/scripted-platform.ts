import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { Inbox } from './inbox.js';

export interface ScriptedReply {
  readonly id: number;
  readonly ok: boolean;
  readonly result?: Record<string, unknown>;
  readonly error?: string;
  readonly detail?: string;
}

export interface ScriptedEvent {
  readonly stream: string;
  readonly session_id: string;
  readonly data?: string;
  readonly code?: number;
  readonly offset?: number;
  readonly replay_for?: number;
}

/** A platform that accepts daemons and then does exactly what the test says, right or wrong. */
export class ScriptedPlatform {
  readonly #http: Server = createServer((_, response) => response.writeHead(404).end());
  readonly #websockets = new WebSocketServer({
    noServer: true,
    handleProtocols: () => false,
    maxPayload: 100 * 1024 * 1024,
  });
  readonly #peers = new Inbox<ScriptedPeer>();
  /** The status to refuse upgrades with; undefined accepts. */
  refuse: number | undefined;
  /** The HTTP requests of every dial, refused ones included. */
  readonly dials = new Inbox<IncomingMessage>();

  private constructor() {
    this.#http.on('upgrade', (request, socket, head) => {
      this.dials.put(request);
      if (this.refuse !== undefined) {
        socket.end(`HTTP/1.1 ${this.refuse} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
        return;
      }
      this.#websockets.handleUpgrade(request, socket, head, (ws) => this.#peers.put(new ScriptedPeer(ws, request)));
    });
  }

  static async listen(): Promise<ScriptedPlatform> {
    const platform = new ScriptedPlatform();
    await new Promise<void>((resolve) => platform.#http.listen(0, '127.0.0.1', resolve));
    return platform;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  /** The next daemon that dials in under that name. */
  peer(name: string, withinMs = 40_000): Promise<ScriptedPeer> {
    return this.#peers.take(`the daemon ${name} dials in`, (peer) => peer.name === name, withinMs);
  }

  async close(): Promise<void> {
    for (const socket of this.#websockets.clients) socket.terminate();
    this.#http.closeAllConnections();
    await new Promise<void>((resolve) => this.#http.close(() => resolve()));
  }
}

/** One daemon, as the scripted platform holds it. */
export class ScriptedPeer {
  readonly replies = new Inbox<ScriptedReply>();
  readonly events = new Inbox<ScriptedEvent>();
  /** Replies and events in the order of the wire. */
  readonly log: (ScriptedReply | ScriptedEvent)[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  #id = 0;

  constructor(
    readonly socket: WebSocket,
    readonly request: IncomingMessage,
  ) {
    this.closed = once(socket, 'close').then(([code, reason]) => ({
      code: code as number,
      reason: (reason as Buffer).toString(),
    }));
    socket.on('error', () => {});
    socket.on('message', (data) => {
      const frame = JSON.parse((data as Buffer).toString()) as ScriptedReply | ScriptedEvent;
      this.log.push(frame);
      if ('stream' in frame) this.events.put(frame);
      else this.replies.put(frame);
    });
  }

  /** What the daemon called itself. */
  get name(): string | null {
    return new URL(this.request.url ?? '', 'http://localhost').searchParams.get('name');
  }

  /** Sends a request and gives the daemon's answer to it. */
  async ask(op: string, body: Record<string, unknown> = {}): Promise<ScriptedReply> {
    const id = this.post(op, body);
    return this.reply(id);
  }

  /** Sends a request and gives its id. */
  post(op: string, body: Record<string, unknown> = {}): number {
    this.#id += 1;
    this.send({ id: this.#id, op, ...body });
    return this.#id;
  }

  reply(id: number): Promise<ScriptedReply> {
    return this.replies.take(`a reply to request ${id}`, (reply) => reply.id === id);
  }

  send(frame: unknown): void {
    this.socket.send(JSON.stringify(frame));
  }

  /** The exit frame of a session. */
  exit(sessionId: string): Promise<ScriptedEvent> {
    return this.events.take(
      `the exit of ${sessionId}`,
      (event) => event.stream === 'exit' && event.session_id === sessionId,
    );
  }

  /** What a session has printed up to now, frames that were tagged for another request left out. */
  output(sessionId: string, stream: 'stdout' | 'stderr', replayFor?: number): Buffer {
    const pieces = this.events.all.filter(
      (event) =>
        event.stream === stream &&
        event.session_id === sessionId &&
        (event.replay_for === undefined || event.replay_for === replayFor),
    );
    return Buffer.concat(pieces.map((event) => Buffer.from(event.data ?? '', 'base64')));
  }
}
