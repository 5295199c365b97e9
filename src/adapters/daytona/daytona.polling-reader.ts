import type { SandboxError } from '#libs/contract';
import { malformedWord } from '../common/journal-errors.js';
import { RecordLines } from '../common/record-lines.js';
import type { ShProcess, ShSink } from '../common/sh-process.js';
import type { TextReadFrom } from '../common/shim.js';
import { PIECES } from './daytona.programs.js';

/** Seconds that one look waits for output. Short enough that one whose answer is lost does not hold up for long. */
export const HOLD_SECONDS = 8;

/** One look at a journal; `undefined`: the sandbox does not run. */
export type Poll = (from: TextReadFrom, signal: AbortSignal) => Promise<string | undefined>;

/** Lets the lines of one look through that belong to a journal, and says what that look ended with. */
export function journalLines(
  text: string,
  isFirst: boolean,
): { readonly lines: readonly string[]; readonly last: string } {
  const lines = text.split('\n').filter((line, i) => line !== '' && (isFirst || i > 0 || !line.startsWith('@f')));
  const last = lines.at(-1) ?? '';
  return last === '@p' ? { lines: lines.slice(0, -1), last } : { lines, last };
}

/** What ends a look: `p` there may be more. */
const ENDS = /^@[pxlntb](?: |$)/;

/**
 * Reads a journal by looking again and again, each time as far as there is credit. It is a truth of its own: a look that
 * failed changes nothing, so it may be repeated.
 */
export class PollingReader implements ShProcess {
  readonly pid: string;
  readonly #poll: Poll;
  readonly #sink: ShSink;
  readonly #abort = new AbortController();
  #at: { stdout: number | 'now'; stderr: number | 'now' };
  #takeOver: boolean;
  #credits: number;
  #isFirst = true;
  #wake: (() => void) | undefined;

  constructor(pid: string, poll: Poll, sink: ShSink, { stdout, stderr, credits, takeOver }: TextReadFrom) {
    this.pid = pid;
    this.#poll = poll;
    this.#sink = sink;
    this.#at = { stdout, stderr };
    this.#credits = credits;
    this.#takeOver = takeOver;
    void this.#run();
  }

  /** Each line is credit for one more piece. */
  async write(data: Uint8Array): Promise<void> {
    this.#credits += data.byteLength;
    this.#wake?.();
  }

  async closeStdin(): Promise<void> {}

  close(): void {
    this.#abort.abort();
    this.#wake?.();
  }

  get #isOpen(): boolean {
    return !this.#abort.signal.aborted;
  }

  async #run(): Promise<void> {
    try {
      while (this.#isOpen) {
        if (this.#credits <= 0) await this.#credit();
        else if (!(await this.#look())) return;
      }
    } catch (error) {
      if (this.#isOpen) this.#sink.closed(error as SandboxError);
    }
  }

  #credit(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** @returns whether there may be more */
  async #look(): Promise<boolean> {
    const from = {
      ...this.#at,
      credits: Math.min(PIECES, this.#credits),
      takeOver: this.#takeOver,
      // Whoever waits for the first word is not kept waiting for output.
      holdSeconds: this.#isFirst ? 0 : HOLD_SECONDS,
    };
    const text = await this.#poll(from, this.#abort.signal);
    if (!this.#isOpen) return false;
    // What does not run has no processes, and how they ended nobody knows.
    const { lines, last } = text === undefined ? { lines: ['@l'], last: '@l' } : journalLines(text, this.#isFirst);
    if (!ENDS.test(last)) throw malformedWord();
    for (const line of lines) this.#count(line);
    this.#isFirst = false;
    this.#takeOver = false;
    this.#sink.output(new RecordLines().push(Buffer.from(lines.map((line) => `${line}\n`).join(''))));
    return last === '@p';
  }

  #count(line: string): void {
    const [word, first, second] = line.startsWith('@') ? line.split(' ') : [];
    if (word === '@f') this.#at = { stdout: Number(first), stderr: Number(second) };
    if (word !== '@o' && word !== '@e') return;
    this.#at[word === '@o' ? 'stdout' : 'stderr'] = Number(first) + Number(second);
    this.#credits -= 1;
  }
}
