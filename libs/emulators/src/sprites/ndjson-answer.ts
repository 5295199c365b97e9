import { pause } from '../kit/pause.js';
import type { Exchange } from '../kit/exchange.js';
import { VM_HEADERS } from './vm.js';

/** An answer of JSON objects, one a line, each sent as soon as it is known. */
export class NdjsonAnswer {
  #lines = 0;

  constructor(
    private readonly exchange: Exchange,
    /** Milliseconds between two lines. */
    private readonly delayMs = 0,
  ) {}

  async begin(): Promise<void> {
    await this.exchange.begin(200, { ...VM_HEADERS, 'content-type': 'application/x-ndjson' });
  }

  async line(value: Readonly<Record<string, unknown>>): Promise<void> {
    if (this.#lines > 0) await pause(this.delayMs, this.exchange.closing);
    this.#lines += 1;
    await this.exchange.write(`${JSON.stringify(value)}\n`);
  }
}
