import { SandboxError } from '#libs/contract';
import { WebSocket, type RawData } from 'ws';
import type { Deadline } from './deadline.js';
import { HttpAnswer } from './http-client.js';
import { transportError } from './transport-error.js';

const PING_INTERVAL_MS = 15_000;
/** Without anything from the service for this long, the connection counts as lost. */
const SILENCE_MS = 45_000;
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/** What arrives. `closed` comes once, after everything else, unless this end closed. */
export interface SocketEvents {
  binary(data: Buffer): void;
  text(text: string): void;
  /** @param reason what the other end said when it closed in good order, else empty */
  closed(error: SandboxError, reason: string): void;
}

export interface SocketTarget {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** What an answer other than a WebSocket means. */
  readonly refused: (answer: HttpAnswer) => SandboxError;
}

/** One WebSocket to a provider. Redirects are never followed. Never stops reading; sees by pings that the other end is there. */
export class ProviderSocket {
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
    { url, headers, refused }: SocketTarget,
    events: SocketEvents,
    deadline: Deadline,
  ): Promise<ProviderSocket> {
    deadline.check();
    const socket = new WebSocket(url, {
      headers,
      perMessageDeflate: false,
      followRedirects: false,
      maxPayload: MAX_MESSAGE_BYTES,
    });
    const connection = new ProviderSocket(socket, events);
    await connection.#open(refused, deadline);
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

  async #open(refused: SocketTarget['refused'], deadline: Deadline): Promise<void> {
    const socket = this.#socket;
    const opened = new Promise<void>((resolve, reject) => {
      socket.on('error', (error) => reject(transportError(error)));
      socket.once('unexpected-response', (request, response) => {
        const pieces: Buffer[] = [];
        let bytes = 0;
        const refuse = (): void => {
          const headers = new Headers();
          for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value));
          reject(refused(new HttpAnswer(response.statusCode ?? 0, headers, Buffer.concat(pieces))));
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
      socket.once('close', (_code, reason) => {
        reject(lost('unknown'));
        this.#end(reason.toString('utf8'));
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

  #end(reason: string): void {
    clearInterval(this.#ping);
    if (this.#closed) return;
    this.#closed = true;
    this.#events.closed(lost('unknown'), reason);
  }
}

function lost(effect: 'none' | 'unknown'): SandboxError {
  return new SandboxError('unavailable', { effect, message: 'the connection to the sandbox was lost' });
}
