import { once } from 'node:events';
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { Inbox } from './inbox.js';
import { settles } from './until.js';

export interface ScriptedRequest {
  readonly id: number;
  readonly op: string;
  readonly name?: string;
  readonly session_id?: string;
  readonly [member: string]: unknown;
}

export interface ScriptedDaemonOptions {
  readonly url: string;
  readonly token?: string;
  readonly name: string;
  readonly instance?: string;
  /** Answers pings. @default true */
  readonly autoPong?: boolean;
  readonly protocols?: readonly string[];
  /** @default '/api/runners/ws' */
  readonly path?: string;
  /** Beside what daemons say of themselves. */
  readonly query?: Readonly<Record<string, string>>;
}

/** A peer that dials the gateway and then does exactly what the test says, right or wrong. */
export class ScriptedDaemon {
  readonly requests = new Inbox<ScriptedRequest>();
  readonly closed: Promise<{ code: number; reason: string }>;
  /** Answers requests by themselves where it returns something; what it does not answer waits in `requests`. */
  answer: ((request: ScriptedRequest) => Record<string, unknown> | undefined) | undefined;

  private constructor(readonly socket: WebSocket) {
    this.closed = once(socket, 'close').then(([code, reason]) => ({
      code: code as number,
      reason: (reason as Buffer).toString(),
    }));
    socket.on('error', () => {});
    socket.on('message', (data) => {
      const request = JSON.parse((data as Buffer).toString()) as ScriptedRequest;
      const answer = this.answer?.(request);
      if (answer) this.send({ id: request.id, ...answer });
      else this.requests.put(request);
    });
  }

  /** Resolves once the socket is open. */
  static async connect(options: ScriptedDaemonOptions): Promise<ScriptedDaemon> {
    const daemon = new ScriptedDaemon(dial(options));
    await once(daemon.socket, 'open');
    return daemon;
  }

  /** The HTTP status with which the gateway refuses the upgrade. */
  static async refusal(options: ScriptedDaemonOptions): Promise<number> {
    const socket = dial(options);
    socket.on('error', () => {});
    const [, response] = (await settles('the refusal', once(socket, 'unexpected-response'))) as [
      unknown,
      { statusCode: number },
    ];
    socket.terminate();
    return response.statusCode;
  }

  /** The message with which the dial fails on this side. */
  static async failure(options: ScriptedDaemonOptions): Promise<string> {
    const socket = dial(options);
    const [error] = (await settles('the failure', once(socket, 'error'))) as [Error];
    socket.terminate();
    return error.message;
  }

  /** The next request of that op that was not answered. */
  next(op: string): Promise<ScriptedRequest> {
    return this.requests.take(`a request "${op}"`, (request) => request.op === op);
  }

  send(frame: unknown): void {
    this.socket.send(JSON.stringify(frame));
  }

  sendText(text: string): void {
    this.socket.send(text);
  }

  sendBinary(data: Uint8Array): void {
    this.socket.send(data, { binary: true });
  }

  /** Sends frames in one piece, so that they arrive in one turn. */
  sendTogether(...frames: unknown[]): void {
    const { _socket: transport } = this.socket as unknown as { _socket: Socket };
    transport.cork();
    for (const frame of frames) this.send(frame);
    transport.uncork();
  }

  ok(request: ScriptedRequest, result: unknown = {}): void {
    this.send({ id: request.id, ok: true, result });
  }

  /** Resolves once the platform has handled everything that was sent before. */
  async processed(): Promise<void> {
    const pong = once(this.socket, 'pong');
    this.socket.ping();
    await settles('the pong', pong);
  }

  async close(): Promise<void> {
    this.socket.terminate();
    await this.closed;
  }
}

function dial(options: ScriptedDaemonOptions): WebSocket {
  const { url, token, name, instance, autoPong = true, protocols = [], path = '/api/runners/ws', query } = options;
  const target = new URL(path, url.replace(/^http/, 'ws'));
  const said = { name, hostname: 'scripted', ...(instance !== undefined && { instance }), ...query };
  target.search = new URLSearchParams(said).toString();
  return new WebSocket(target, [...protocols], {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
    autoPong,
  });
}

export function base64(data: string | Uint8Array): string {
  return Buffer.from(data).toString('base64');
}
