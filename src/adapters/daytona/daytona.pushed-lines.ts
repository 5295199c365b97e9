import { JournalParser, type JournalRecord } from '../common/journal-parser.js';
import { RecordLines } from '../common/record-lines.js';
import type { ReadFrom } from '../common/shim.js';
import type { OpenPush, Push } from './daytona.push.js';

/** What is pushed is kept twice in the sandbox, and goes through a slow reader of lines there. */
const HEAVY_BYTES = 256 * 1024;
/** Without anything pushed for so long, the truth is looked for. */
const SILENCE_MS = 30_000;

/** How a push was over: all was told; it brings too much; it brought nothing; it broke off. */
export type PushOutcome = 'ended' | 'heavy' | 'silent' | 'broken';

const ENDS: ReadonlySet<string> = new Set(['x', 'l', 'n']);

/** The records that one push brings. */
export class PushedLines {
  readonly #emit: (record: JournalRecord) => void;
  readonly #lines = new RecordLines();
  readonly #parser: JournalParser;
  #bytes = 0;
  #silence: NodeJS.Timeout | undefined;
  #settle: (outcome: PushOutcome) => void = () => {};

  constructor(emit: (record: JournalRecord) => void) {
    this.#emit = emit;
    this.#parser = new JournalParser((record) => this.#record(record));
  }

  /** Resolves when it is over, whatever went wrong. */
  async run(open: OpenPush, from: ReadFrom, signal: AbortSignal): Promise<PushOutcome> {
    const over = new Promise<PushOutcome>((resolve) => {
      this.#settle = resolve;
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
    try {
      this.#parser.push(this.#lines.push(data));
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
    if (record.type === 'output') {
      this.#emit(record);
      this.#bytes += record.data.byteLength;
      if (this.#bytes > HEAVY_BYTES) this.#settle('heavy');
    } else if (record.type === 'word' && ENDS.has(record.word)) {
      this.#emit(record);
      this.#settle('ended');
    }
  }
}
