import { SandboxError } from '#libs/contract';
import { WebSocket, type RawData } from 'ws';
import type { Deadline } from '../common/deadline.js';
import { transportError } from '../common/transport-error.js';
import type { SpritesClient } from './sprites.client.js';
import { answerError } from './sprites.errors.js';

const PING_INTERVAL_MS = 15_000;
/** Without anything from the service for this long, the connection counts as lost. */
const SILENCE_MS = 45_000;
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/** What arrives. `closed` comes once, after everything else, unless this end closed. */
export interface SocketEvents {
  binary(data: Buffer): void;
  text(text: string): void;
  closed(error: SandboxError): void;
}

/** One WebSocket to the API. Never stops reading; sees by pings that the other end is there. */
export class SpritesSocket {
  readonly #socket: WebSocket;
  readonly #events: SocketEvents;
  #heardAtMs = performance.now();
  #ping: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(socket: WebSocket, events: SocketEvents) {
    this.#socket = socket;
    this.#events = events;
  }

  /** Frames may be delivered before it resolves. @throws {SandboxError} the refusal, its effect as the status has it */
  static async connect(
    client: SpritesClient,
    path: string,
    query: Iterable<readonly [string, string]>,
    events: SocketEvents,
    deadline: Deadline,
  ): Promise<SpritesSocket> {
    deadline.check();
    const socket = new WebSocket(client.socketUrl(path, query), {
      headers: client.authorization(),
      perMessageDeflate: false,
      followRedirects: false,
      maxPayload: MAX_MESSAGE_BYTES,
    });
    const connection = new SpritesSocket(socket, events);
    await connection.#open(deadline);
    return connection;
  }

  /** Resolves when it was handed to the network. @throws {SandboxError} `unavailable`: the connection is gone */
  async send(data: Buffer | string): Promise<void> {
    if (this.#closed || this.#socket.readyState !== WebSocket.OPEN) throw lost('none');
    await new Promise<void>((resolve, reject) => {
      this.#socket.send(data, (error) => (error ? reject(lost('unknown')) : resolve()));
    });
  }

  /** Any number of times. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#ping);
    if (this.#socket.readyState === WebSocket.OPEN) {
      this.#socket.close(1000);
      // The service keeps a socket open for seconds; what was sent still goes out.
      setTimeout(() => this.#socket.terminate(), 100).unref();
    } else this.#socket.terminate();
  }

  async #open(deadline: Deadline): Promise<void> {
    const socket = this.#socket;
    const opened = new Promise<void>((resolve, reject) => {
      socket.on('error', (error) => reject(transportError(error)));
      socket.once('unexpected-response', (request, response) => {
        const pieces: Buffer[] = [];
        let bytes = 0;
        const refuse = (): void => {
          const text = Buffer.concat(pieces).toString('utf8');
          const { statusCode: status = 0, headers } = response;
          const get = (name: string): string | null => String(headers[name] ?? '') || null;
          reject(answerError({ status, headers: { get }, text: () => text }));
          request.destroy();
        };
        response.on('data', (piece: Buffer) => {
          bytes += piece.byteLength;
          if (bytes <= MAX_ERROR_BYTES) pieces.push(piece);
          else refuse();
        });
        response.once('end', refuse);
        response.once('error', refuse);
        response.once('aborted', refuse);
      });
      socket.once('open', () => {
        this.#start();
        resolve();
      });
      socket.once('close', () => {
        reject(lost('unknown'));
        this.#end();
      });
    });
    socket.on('message', (data: RawData, isBinary: boolean) => this.#message(data as Buffer, isBinary));
    socket.on('pong', () => this.#hear());
    socket.on('ping', () => this.#hear());
    try {
      await deadline.race(opened, 'unknown');
    } catch (error) {
      this.close();
      throw error;
    }
  }

  #start(): void {
    this.#hear();
    this.#ping = setInterval(() => {
      if (performance.now() - this.#heardAtMs > SILENCE_MS) this.#socket.terminate();
      else this.#socket.ping();
    }, PING_INTERVAL_MS);
    this.#ping.unref();
  }

  #hear(): void {
    this.#heardAtMs = performance.now();
  }

  #message(data: Buffer, isBinary: boolean): void {
    this.#hear();
    if (this.#closed) return;
    if (isBinary) this.#events.binary(data);
    else this.#events.text(data.toString('utf8'));
  }

  #end(): void {
    clearInterval(this.#ping);
    if (this.#closed) return;
    this.#closed = true;
    this.#events.closed(lost('unknown'));
  }
}

function lost(effect: 'none' | 'unknown'): SandboxError {
  return new SandboxError('unavailable', { effect, message: 'the connection to the sprite was lost' });
}
