import type { SandboxError } from '#libs/contract';
import type { RecordSink } from './sh-process.js';

/** The first word of a program of the shim, which says whether and how it runs, split off from what comes after. */
export class FirstWord implements RecordSink {
  readonly arrived: Promise<readonly string[]>;
  readonly #rest: RecordSink;
  #settle: { resolve(word: readonly string[]): void; reject(error: SandboxError): void } | undefined;

  constructor(rest: RecordSink) {
    this.#rest = rest;
    this.arrived = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.arrived.catch(() => {});
  }

  record(record: Parameters<RecordSink['record']>[0]): void {
    if (this.#settle === undefined || record.type !== 'word') return this.#rest.record(record);
    this.#settle.resolve([record.word, ...record.values]);
    this.#settle = undefined;
    return undefined;
  }

  closed(error: SandboxError): void {
    this.#settle?.reject(error);
    this.#rest.closed(error);
  }
}
