import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { FaultEffect } from './fault.js';
import { pause } from './pause.js';
import { Steps } from './steps.js';

/** Where an answer goes. */
export interface Output {
  /** Whether the client is gone, so that nothing that is written arrives. */
  readonly gone: boolean;
  head(status: number, headers: OutgoingHttpHeaders): Promise<void>;
  /** Resolves when there is room for more. Every call is one chunk on the wire, unless a length was given. */
  write(chunk: Uint8Array): Promise<void>;
  end(): Promise<void>;
  /** Breaks the connection. */
  cut(): void;
  /** At once where the client is gone already. */
  onGone(listener: () => void): void;
}

/** The answer of a request that is carried out and then answered with something else. */
export class NoOutput implements Output {
  readonly #listeners: (() => void)[] = [];
  #ended = false;
  readonly gone = false;

  async head(): Promise<void> {}

  async write(): Promise<void> {}

  async end(): Promise<void> {
    this.cut();
  }

  cut(): void {
    this.#ended = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }

  onGone(listener: () => void): void {
    if (this.#ended) listener();
    else this.#listeners.push(listener);
  }
}

export class HttpOutput implements Output {
  readonly #steps: Steps;
  #bytes = 0;

  constructor(
    private readonly response: ServerResponse,
    private readonly fault: FaultEffect,
    private readonly closing: AbortSignal,
  ) {
    this.#steps = new Steps(
      fault.rewrite,
      async (step) => ('data' in step ? await this.#put(step.data) : await this.#close(step.close)),
      closing,
    );
  }

  get gone(): boolean {
    return this.response.destroyed || this.response.writableEnded;
  }

  async head(status: number, headers: OutgoingHttpHeaders): Promise<void> {
    if (this.fault.delayMs !== undefined) await pause(this.fault.delayMs, this.closing);
    if (this.gone) return;
    if (this.fault.rewrite) delete headers['content-length'];
    this.response.writeHead(status, headers);
    this.response.flushHeaders();
  }

  async write(chunk: Uint8Array): Promise<void> {
    const data = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    await this.#steps.take({ data, binary: true });
  }

  async end(): Promise<void> {
    await this.#steps.take({ close: 1000 });
  }

  cut(): void {
    this.response.destroy();
  }

  onGone(listener: () => void): void {
    if (this.response.closed) listener();
    else this.response.once('close', listener);
  }

  async #put(data: Buffer): Promise<void> {
    if (this.gone || data.length === 0) return;
    const left = (this.fault.truncateAt ?? Infinity) - this.#bytes;
    this.#bytes += data.length;
    if (data.length >= left) {
      if (left > 0) await this.#write(data.subarray(0, left));
      await this.#cut();
    } else await this.#write(data);
  }

  async #write(data: Buffer): Promise<void> {
    if (this.response.write(data) || this.gone) return;
    const settled = new AbortController();
    const gone = () => settled.abort();
    this.response.once('close', gone);
    // A client that goes away never drains; neither is an error here.
    await once(this.response, 'drain', { signal: settled.signal }).catch(() => {});
    this.response.off('close', gone);
  }

  async #close(code: number): Promise<void> {
    if (this.gone) return;
    if (code === 1000) this.response.end();
    else await this.#cut();
  }

  /** What was written still arrives. */
  async #cut(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.response.socket?.destroySoon();
  }
}
