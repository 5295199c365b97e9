import { SandboxError, type Exit, type OutputFrame, type SandboxCommand, type StreamOffsets } from '#libs/contract';
import { describe } from './describe.js';
import { expectThat } from './expect.js';
import { Mismatch } from './mismatch.js';
import type { Transcript } from './transcript.js';

/** How a command is read. */
export interface ReadingOptions {
  /** Where the output begins, as it was asked of `attach`. @default the beginning */
  readonly from?: Partial<StreamOffsets>;
  /** Keep the bytes; otherwise only `onFrame` sees them. @default true */
  readonly keep?: boolean;
  /** Called with each frame; a promise holds back the next one. */
  readonly onFrame?: (frame: OutputFrame) => void | PromiseLike<void>;
}

/** How a command ended. */
export type Ending = { readonly exit: Exit } | { readonly error: unknown };

/** The output of a command as it comes, by `forEach`. Every frame must continue its stream. */
export class Reading {
  /** Settles with the end of the command; never rejects but for a frame that must not be. */
  readonly ended: Promise<Ending>;
  readonly #kept: Record<OutputFrame['type'], Uint8Array[]> = { stdout: [], stderr: [] };
  readonly #next: { stdout: number; stderr: number };
  readonly #from: StreamOffsets;
  readonly #waiting = new Set<() => void>();
  #done = false;

  constructor(command: SandboxCommand, transcript: Transcript, options: ReadingOptions = {}) {
    const { from = {}, keep = true, onFrame } = options;
    this.#from = { stdout: from.stdout ?? 0, stderr: from.stderr ?? 0 };
    this.#next = { ...this.#from };
    const take = async (frame: OutputFrame): Promise<void> => {
      transcript.note(`  ${frame.type} at ${frame.offset}: ${describe(frame.data)}`);
      this.#check(frame);
      if (keep) this.#kept[frame.type].push(Uint8Array.from(frame.data));
      await onFrame?.(frame);
      this.#wake();
    };
    this.ended = this.#read(command, take, transcript);
    this.ended.catch(() => {});
  }

  get stdout(): Buffer {
    return Buffer.concat(this.#kept.stdout);
  }

  get stderr(): Buffer {
    return Buffer.concat(this.#kept.stderr);
  }

  /** Bytes of each stream that have come, counted from the beginning of the session. */
  get offsets(): StreamOffsets {
    return { ...this.#next };
  }

  /** Bytes that have come to this reader. */
  get bytes(): number {
    return this.#next.stdout - this.#from.stdout + this.#next.stderr - this.#from.stderr;
  }

  /** The exit. @throws {Mismatch} when it ended in an error */
  async exit(): Promise<Exit> {
    const ending = await this.ended;
    if ('exit' in ending) return ending.exit;
    throw new Mismatch('the end of the output', 'an exit', describe(ending.error));
  }

  /** The error. @throws {Mismatch} when it ended in an exit */
  async error(): Promise<unknown> {
    const ending = await this.ended;
    if ('error' in ending) return ending.error;
    throw new Mismatch('the end of the output', 'an error', `exit ${describe(ending.exit)}`);
  }

  /** Resolves once it holds. @throws {Mismatch} when the command ended before */
  async until(what: string, holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.#done) {
        await this.ended;
        throw new Mismatch(
          `waiting until ${what}`,
          'it before the end',
          `${describe(this.stdout)}, ${describe(this.stderr)}`,
        );
      }
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Resolves once what was kept of a stream holds `text`. */
  shows(text: string, stream: OutputFrame['type'] = 'stdout'): Promise<void> {
    return this.until(`${stream} shows ${describe(text)}`, () => this[stream].includes(text));
  }

  async #read(
    command: SandboxCommand,
    take: (frame: OutputFrame) => Promise<void>,
    transcript: Transcript,
  ): Promise<Ending> {
    try {
      const exit = await command.forEach(take);
      transcript.note(`  exit ${describe(exit)}`);
      return { exit };
    } catch (error) {
      if (error instanceof Mismatch) throw error;
      transcript.note(`  end ${describe(error)}`);
      expectThat('an output that ends in an error', error instanceof SandboxError, 'a SandboxError', error);
      return { error };
    } finally {
      this.#done = true;
      this.#wake();
    }
  }

  #check({ type, offset, data }: OutputFrame): void {
    expectThat(`data of ${type}`, data instanceof Uint8Array, 'bytes', data);
    expectThat(`offset of ${type}`, offset === this.#next[type], String(this.#next[type]), offset);
    this.#next[type] += data.byteLength;
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
