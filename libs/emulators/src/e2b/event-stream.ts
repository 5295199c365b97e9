import type { Exchange } from '../kit/exchange.js';
import { envelope, LAST, type ConnectError } from './connect-protocol.js';

/** The answer to a streaming call: messages in envelopes, the last of which tells how the call went. */
export class EventStream {
  #last: Promise<void> = Promise.resolve();
  #queued = 0;
  #begun = false;
  #ended = false;
  #muted = false;
  #keepalive: NodeJS.Timeout | undefined;
  #finish: () => void = () => {};
  /** Resolves when it has ended, or nobody reads it. */
  readonly done = new Promise<void>((resolve) => (this.#finish = resolve));

  constructor(
    private readonly exchange: Exchange,
    private readonly keepaliveMs: number,
  ) {
    exchange.onGone(() => this.#over());
  }

  /** Bytes that wait for the client. */
  get queuedBytes(): number {
    return this.#queued;
  }

  /** Resolves when everything so far was taken. */
  get flushed(): Promise<void> {
    return this.#last;
  }

  event(event: Readonly<Record<string, unknown>>): void {
    if (this.#ended || this.#muted) return;
    this.#put(envelope(0, { event }));
    this.#rest();
  }

  /** The end of the call. Nothing follows. */
  finish(error?: ConnectError): void {
    if (this.#ended || this.#muted) return;
    this.#ended = true;
    clearTimeout(this.#keepalive);
    this.#put(envelope(LAST, error ? { error } : {}));
    void this.#end();
  }

  /** Breaks the connection. */
  cut(): void {
    this.exchange.cut();
    this.#over();
  }

  /** No keepalives until the next event. */
  silence(): void {
    clearTimeout(this.#keepalive);
  }

  /** Nothing is sent any more, though the connection stays. */
  mute(): void {
    this.#muted = true;
    clearTimeout(this.#keepalive);
  }

  async #end(): Promise<void> {
    await this.#last;
    await this.exchange.end().catch(() => {});
    this.#over();
  }

  #put(frame: Buffer): void {
    this.#queued += frame.length;
    this.#last = this.#write(this.#last, frame);
  }

  async #write(before: Promise<void>, frame: Buffer): Promise<void> {
    await before;
    try {
      if (!this.#begun) await this.exchange.begin(200, { 'content-type': 'application/connect+json' });
      this.#begun = true;
      await this.exchange.write(frame);
    } catch {
      // The emulator closes.
    } finally {
      this.#queued -= frame.length;
    }
  }

  #rest(): void {
    clearTimeout(this.#keepalive);
    this.#keepalive = setTimeout(() => this.event({ keepalive: {} }), this.keepaliveMs);
  }

  #over(): void {
    this.#ended = true;
    clearTimeout(this.#keepalive);
    this.#finish();
  }
}
