import type { RawData, WebSocket } from 'ws';
import type { WritableCall } from './call.js';
import type { FaultEffect } from './fault.js';
import { Steps } from './steps.js';

/** A message of the client. */
export interface Incoming {
  readonly data: Buffer;
  readonly binary: boolean;
}

/** How often a channel that is full looks whether it has room again. */
const LOOK_MS = 5;
/** Messages that may arrive before there is a listener; more stay with the client. */
const MOST_EARLY = 64;

/** The server's end of a WebSocket. */
export class Channel {
  readonly #steps: Steps;
  readonly #early: Incoming[] = [];
  #listener: ((message: Incoming) => void) | undefined;
  #closed = false;
  readonly #whenClosed: Promise<void>;

  constructor(
    private readonly socket: WebSocket,
    private readonly call: WritableCall,
    private readonly fault: FaultEffect,
    private readonly closing: AbortSignal,
  ) {
    this.#steps = new Steps(fault.rewrite, (step) => this.#perform(step), closing);
    socket.on('error', () => {});
    socket.on('message', (message, binary) => {
      const data = bytesOf(message);
      this.call.bodyBytes += data.length;
      this.#received({ data, binary });
    });
    this.#whenClosed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#closed = true;
        resolve();
      });
    });
    if (fault.deaf) socket.pause();
  }

  /** Whether the connection is at its end, or on the way there. */
  get closed(): boolean {
    return this.#closed || this.socket.readyState !== this.socket.OPEN;
  }

  /** Resolves when the connection is gone, whoever ended it. */
  get whenClosed(): Promise<void> {
    return this.#whenClosed;
  }

  /** Bytes that wait to be sent; none once the connection is at its end, for nothing is sent then. */
  get queuedBytes(): number {
    return this.closed || this.closing.aborted ? 0 : this.socket.bufferedAmount;
  }

  /** One listener; it gets first what arrived before. */
  onMessage(listener: (message: Incoming) => void): void {
    this.#listener = listener;
    for (const message of this.#early.splice(0)) listener(message);
    if (!this.fault.deaf) this.socket.resume();
  }

  /** Sends a frame: binary for bytes, text for a string. */
  send(message: Uint8Array | string): void | Promise<void> {
    return this.#steps.take({ data: Buffer.from(message as string), binary: typeof message !== 'string' });
  }

  /** Ends the stream after what was sent: a close frame, or with 1006 a cut without one. */
  close(code = 1000, reason = ''): void | Promise<void> {
    return this.#steps.take({ close: code, reason });
  }

  /** Reads nothing, pings and a Close included, until what is waited for has settled. */
  async hold(until: Promise<void>): Promise<void> {
    this.socket.pause();
    await until.catch(() => {});
    if (!this.fault.deaf) this.socket.resume();
  }

  /** Cuts the connection at once. */
  terminate(): void {
    this.socket.terminate();
  }

  /** Resolves when at most `bytes` wait to be sent, or the connection is gone. */
  async room(bytes: number): Promise<void> {
    while (this.queuedBytes > bytes) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  #received(message: Incoming): void {
    if (this.#listener) this.#listener(message);
    else if (this.#early.push(message) >= MOST_EARLY) this.socket.pause();
  }

  #perform(step: { data: Buffer; binary: boolean } | { close: number; reason?: string }): void {
    if (this.closed) return;
    if ('data' in step) this.socket.send(step.data, { binary: step.binary });
    else if (step.close === 1006) this.#cut();
    else this.socket.close(step.close, step.reason);
  }

  /** What was sent before still arrives: the end of the TCP stream follows it, without a close frame. */
  #cut(): void {
    const { _socket: tcp } = this.socket as unknown as { readonly _socket: { end(done: () => void): void } };
    tcp.end(() => this.socket.terminate());
  }
}

function bytesOf(data: RawData): Buffer {
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
}
