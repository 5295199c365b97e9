import { SandboxError, type OutputFrame, type StreamOffsets } from '#libs/contract';
import { replayEvicted, type SessionSink } from '#libs/protocol';
import { beyondEnd } from './fake-errors.js';
import type { FakeLimits } from './fake-limits.js';
import { ScriptedJournal } from './scripted-journal.js';
import { SessionReader, type ReadSession, type SessionEnd } from './session-reader.js';

const BEGINNING: StreamOffsets = Object.freeze({ stdout: 0, stderr: 0 });

/** What one session wrote, and everybody who reads it. */
export class SessionOutput implements ReadSession {
  readonly journal = new ScriptedJournal();
  readonly #limits: FakeLimits;
  readonly #isRecorded: boolean;
  readonly #onChange: () => void;
  readonly #readers = new Set<SessionReader>();
  #held = false;
  #end: SessionEnd | undefined;

  /**
   * @param isRecorded whether it can be replayed
   * @param onChange there may be more room, or fewer readers
   */
  constructor(limits: FakeLimits, isRecorded: boolean, onChange: () => void) {
    this.#limits = limits;
    this.#isRecorded = isRecorded;
    this.#onChange = onChange;
  }

  get end(): SessionEnd | undefined {
    return this.#end;
  }

  get readers(): number {
    return this.#readers.size;
  }

  /**
   * Joins it. What is there already is delivered before this returns.
   *
   * @throws {SandboxError} `invalid` / `offset_beyond_end`; `truncated`
   */
  attach(
    sink: SessionSink,
    from: StreamOffsets | 'now' = BEGINNING,
    windowBytes = this.#limits.windowBytes,
  ): SessionReader {
    const begin = this.checkFrom(from);
    const reader = new SessionReader(this, sink, begin, windowBytes);
    this.#readers.add(reader);
    reader.pump();
    return reader;
  }

  /** Where an attach begins. @throws {SandboxError} as `attach` */
  checkFrom(from: StreamOffsets | 'now'): StreamOffsets {
    const { offsets, oldest } = this.journal;
    if (from === 'now') return offsets;
    if (!this.#isRecorded) throw new SandboxError('truncated', { message: 'the output of a terminal is not kept' });
    if (from.stdout > offsets.stdout || from.stderr > offsets.stderr) throw beyondEnd();
    if (from.stdout < oldest.stdout || from.stderr < oldest.stderr) throw replayEvicted(oldest);
    return from;
  }

  /** What lies in the journal from `from` on, up to the position `until`. */
  *replay(from: StreamOffsets, until: number): Generator<OutputFrame> {
    for (let position = this.journal.first; position < until; position++) {
      const frame = this.journal.read(position, from);
      if (frame !== undefined && frame.data.byteLength > 0) yield frame;
    }
  }

  /** A reader that left means to come back: nothing of the output is given up meanwhile. */
  hold(held: boolean): void {
    this.#held = held;
    this.#onChange();
  }

  /**
   * A process that nobody reads runs on; what it writes beyond the journal's cap pushes out the oldest. Others wait for
   * the fastest of their readers; a slower one reads from the journal, which keeps what it has not been given.
   */
  hasRoom(bytes: number): boolean {
    if (this.#held && this.journal.bytes + bytes > this.#limits.journalBytes) return false;
    if (this.#readers.size === 0) return true;
    const readers = [...this.#readers];
    const unread = this.journal.bytesFrom(Math.min(...readers.map(({ position }) => position)));
    const isKept = unread === 0 || unread + bytes <= this.#limits.journalBytes;
    return isKept && readers.some((reader) => reader.hasRoom);
  }

  append(stream: OutputFrame['type'], data: Uint8Array): void {
    this.journal.evict(Math.max(0, this.#limits.journalBytes - data.byteLength));
    this.journal.append(stream, data);
    for (const reader of this.#readers) reader.pump();
  }

  /** Nothing more is written; the first end counts. */
  close(end: SessionEnd): void {
    this.#end ??= end;
    for (const reader of this.#readers) reader.pump();
  }

  /** The transport to every reader breaks. */
  cut(): void {
    for (const reader of this.#readers) reader.cut();
  }

  advanced(reader: SessionReader, isGone: boolean): void {
    if (isGone) this.#readers.delete(reader);
    this.#onChange();
  }
}
