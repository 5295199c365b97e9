import { setImmediate } from 'node:timers/promises';
import type { SandboxError } from '#libs/contract';
import { malformedWord } from '../common/journal-errors.js';
import type { JournalRecord } from '../common/journal-parser.js';
import type { ShProcess, ShSink } from '../common/sh-process.js';
import type { TextReadFrom } from '../common/shim.js';
import { readText } from '../common/text-records.js';
import { PIECES } from './daytona.programs.js';
import type { OpenPush } from './daytona.push.js';
import { PushedLines } from './daytona.pushed-lines.js';

/** Seconds that one look waits for output. Short enough that one whose answer is lost does not hold up for long. */
export const HOLD_SECONDS = 8;

/** Looks one after the other that bring no more than this, before it is worth the while to be told of output. */
const CALM_LOOKS = 3;
const CALM_BYTES = 16 * 1024;
/** As many as anybody will ever push: who reads it stops it. */
const MANY_PIECES = 1_000_000_000;
/** Pushes that break, before no more are asked for. */
const MAX_BROKEN = 2;

/** One look at a journal; `undefined`: the sandbox does not run. */
export type Poll = (from: TextReadFrom, signal: AbortSignal) => Promise<string | undefined>;

/** Lets the lines of one look through that belong to a journal, and says what that look ended with. */
export function journalText(text: string, isFirst: boolean): { readonly journal: string; readonly last: string } {
  const from = !isFirst && text.startsWith('@f') ? text.indexOf('\n') + 1 : 0;
  const lastAt = text.lastIndexOf('\n', text.length - 2) + 1;
  const last = text.slice(lastAt).trimEnd();
  return { journal: text.slice(from, last === '@p' ? Math.max(from, lastAt) : undefined), last };
}

/** What does not run has no processes, and how they ended nobody knows. */
const PARKED = '@f 0 0 0\n@l\n';

/** What ends a look: `p` there may be more. */
const ENDS = /^@[pxlntb](?: |$)/;

/**
 * Reads a journal by looking again and again, each time as far as there is credit. It is a truth of its own: a look that
 * failed changes nothing, so it may be repeated. While little comes, output is pushed instead, which is only quicker:
 * whatever is odd about that, looking goes on at the very next byte.
 */
export class PollingReader implements ShProcess {
  readonly pid: string;
  readonly #poll: Poll;
  readonly #openPush: OpenPush | undefined;
  readonly #sink: ShSink;
  readonly #abort = new AbortController();
  #at: { stdout: number | 'now'; stderr: number | 'now' };
  #takeOver: boolean;
  #credits: number;
  #isFirst = true;
  #calm = 0;
  #broken = 0;
  #wake: (() => void) | undefined;

  /** @param openPush `undefined`: it only looks */
  constructor(
    pid: string,
    poll: Poll,
    openPush: OpenPush | undefined,
    sink: ShSink,
    { stdout, stderr, credits, takeOver }: TextReadFrom,
  ) {
    this.pid = pid;
    this.#poll = poll;
    this.#openPush = openPush;
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
        else if (!(await (this.#calm >= CALM_LOOKS ? this.#push() : this.#look(HOLD_SECONDS)))) return;
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
  async #look(holdSeconds: number): Promise<boolean> {
    const from = {
      ...this.#at,
      credits: Math.min(PIECES, this.#credits),
      takeOver: this.#takeOver,
      // Whoever waits for the first word is not kept waiting for output.
      holdSeconds: this.#isFirst ? 0 : holdSeconds,
    };
    const text = await this.#poll(from, this.#abort.signal);
    if (!this.#isOpen) return false;
    const { journal, last } = journalText(text ?? PARKED, this.#isFirst);
    if (!ENDS.test(last)) throw malformedWord();
    let bytes = 0;
    readText(journal, (record) => {
      this.#forward(record);
      if (record.type === 'output') bytes += record.data.byteLength;
    });
    this.#isFirst = false;
    this.#takeOver = false;
    const canPush = this.#openPush !== undefined && this.#broken < MAX_BROKEN;
    this.#calm = canPush && bytes <= CALM_BYTES ? this.#calm + 1 : 0;
    if (last !== '@p') return false;
    // Credit for what came is given in a later turn: a look before it would ask for less than its reader takes.
    await setImmediate();
    return true;
  }

  /** @returns whether there may be more */
  async #push(): Promise<boolean> {
    this.#calm = 0;
    const { stdout, stderr } = this.#at;
    if (this.#openPush === undefined || stdout === 'now' || stderr === 'now') return true;
    const lines = new PushedLines({ stdout, stderr }, (record) => {
      if (this.#isOpen) this.#forward(record);
    });
    const from = { stdout, stderr, credits: MANY_PIECES, takeOver: false };
    const outcome = await lines.run(this.#openPush, from, this.#abort.signal);
    if (outcome === 'ended') return false;
    if (outcome === 'heavy' || !this.#isOpen) return true;
    // The truth is looked for at once, and whether something was kept back.
    const told = this.#told;
    const isMore = await this.#look(0);
    if (outcome === 'broken' || told !== this.#told) this.#broken += 1;
    return isMore;
  }

  get #told(): string {
    return `${this.#at.stdout} ${this.#at.stderr}`;
  }

  /** As a whole record, since what was pushed may break off in one. */
  #forward(record: JournalRecord): void {
    if (record.type === 'piece') return;
    if (record.type === 'word') {
      if (record.word === 'f') this.#at = { stdout: Number(record.values[0]), stderr: Number(record.values[1]) };
      this.#sink.output(Buffer.from(`@${[record.word, ...record.values].join(' ')}\n`));
      return;
    }
    const { stream, offset, data } = record;
    this.#at[stream] = offset + data.byteLength;
    this.#credits -= 1;
    this.#sink.output(Buffer.from(`@${stream === 'stdout' ? 'o' : 'e'} ${offset} ${data.byteLength}\n`));
    this.#sink.output(data);
  }
}
