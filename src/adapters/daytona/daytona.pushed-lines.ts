import { malformedWord } from '../common/journal-errors.js';
import { JournalParser, recordedExit, type JournalRecord } from '../common/journal-parser.js';
import type { ReadFrom } from '../common/shim.js';
import type { OpenPush, Push } from './daytona.push.js';
import { WholePieces } from './daytona.whole-pieces.js';

/** What is pushed is kept twice in the sandbox, and goes through a slow reader of lines there. */
const HEAVY_BYTES = 256 * 1024;
/** Without anything pushed for so long, the truth is looked for. */
const SILENCE_MS = 30_000;

/** How a push was over: all was told; it brings too much; it brought nothing; it broke off. */
export type PushOutcome = 'ended' | 'heavy' | 'silent' | 'broken';

/** Words of an end that the push does not prove. */
const UNPROVED: ReadonlySet<string> = new Set(['l', 'n', 'p', 'b']);

/** The records that one push brings, as far as each fits to the one before. */
export class PushedLines {
  readonly #emit: (record: JournalRecord) => void;
  readonly #pieces: WholePieces;
  #at: { stdout: number; stderr: number };
  #isOver = false;
  #bytes = 0;
  #silence: NodeJS.Timeout | undefined;
  #settle: (outcome: PushOutcome) => void = () => {};

  /** @param at where both streams are */
  constructor(at: { readonly stdout: number; readonly stderr: number }, emit: (record: JournalRecord) => void) {
    this.#at = { ...at };
    this.#emit = emit;
    const parser = new JournalParser((record) => this.#record(record));
    this.#pieces = new WholePieces((data) => parser.push(data));
  }

  /** Resolves when it is over, whatever went wrong. */
  async run(open: OpenPush, from: ReadFrom, signal: AbortSignal): Promise<PushOutcome> {
    const over = new Promise<PushOutcome>((resolve) => {
      this.#settle = (outcome) => {
        this.#isOver = true;
        resolve(outcome);
      };
    });
    const broken = (): void => this.#settle('broken');
    signal.addEventListener('abort', broken);
    let push: Push | undefined;
    try {
      push = await open(from, { text: (data) => this.#text(data), closed: broken }, signal);
      this.#waitOn();
      return await over;
    } catch {
      return 'broken';
    } finally {
      clearTimeout(this.#silence);
      signal.removeEventListener('abort', broken);
      push?.close();
    }
  }

  #text(data: Uint8Array): void {
    if (this.#isOver) return;
    try {
      this.#pieces.push(data);
      // What is not whole yet counts as well, and is read from its beginning elsewhere.
      if (this.#bytes + this.#pieces.heldBytes > HEAVY_BYTES) this.#settle('heavy');
    } catch {
      this.#settle('broken');
    }
    if (this.#silence) this.#waitOn();
  }

  #waitOn(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#settle('silent'), SILENCE_MS);
    this.#silence.unref();
  }

  #record(record: JournalRecord): void {
    if (this.#isOver || record.type === 'piece') return;
    if (record.type === 'output') return this.#output(record);
    if (record.word === 'x') return this.#exit(record);
    if (UNPROVED.has(record.word)) this.#settle('silent');
  }

  #output(record: Extract<JournalRecord, { type: 'output' }>): void {
    const { stream, offset, data } = record;
    if (offset !== this.#at[stream]) throw malformedWord();
    this.#at[stream] += data.byteLength;
    this.#emit(record);
    this.#bytes += data.byteLength;
  }

  #exit(record: Extract<JournalRecord, { type: 'word' }>): void {
    const { stdout, stderr } = recordedExit(record.values);
    if (stdout !== this.#at.stdout || stderr !== this.#at.stderr) throw malformedWord();
    this.#emit(record);
    this.#settle('ended');
  }
}
