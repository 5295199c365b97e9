import type { SandboxError } from '#libs/contract';
import { malformedWord } from '../common/journal-errors.js';
import type { TerminalSink } from './daytona.terminal-process.js';
import { terminalMark } from './daytona.programs.js';

const LINE_FEED = 10;
/** Of the line with the mark. */
const MAX_LINE_BYTES = 256;

/** Output of a terminal from the line behind a mark on: before it comes what a shell shows by itself. */
export class MarkedOutput implements TerminalSink {
  readonly #mark: string;
  readonly #rest: TerminalSink;
  #kept: Buffer | undefined = Buffer.alloc(0);

  constructor(nonce: string, rest: TerminalSink) {
    this.#mark = terminalMark(nonce);
    this.#rest = rest;
  }

  output(data: Uint8Array): void {
    if (this.#kept === undefined) return this.#rest.output(data);
    const all = Buffer.concat([this.#kept, data]);
    const mark = all.indexOf(this.#mark);
    // The end of what is here may be the beginning of the mark.
    const from = mark === -1 ? Math.max(0, all.byteLength - this.#mark.length) : mark;
    this.#kept = all.subarray(from);
    const end = mark === -1 ? -1 : this.#kept.indexOf(LINE_FEED);
    if (end === -1) {
      if (this.#kept.byteLength <= MAX_LINE_BYTES) return undefined;
      this.#kept = Buffer.alloc(0);
      return this.closed(malformedWord());
    }
    const behind = this.#kept.subarray(end + 1);
    this.#kept = undefined;
    return this.#rest.output(behind);
  }

  closed(error: SandboxError, exitCode?: number): void {
    this.#rest.closed(error, exitCode);
  }
}
