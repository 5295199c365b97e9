import type { StreamOffsets } from '#libs/contract';
import type { SessionExit, SessionSink } from '#libs/protocol';
import { closedBeforeExit } from './fake-errors.js';
import type { ScriptedJournal } from './scripted-journal.js';

/** How a session ended: measured, or unknown because the transport closed first. */
export type SessionEnd = { readonly exit: SessionExit } | { readonly lost: true };

/** What a reader needs of its session. */
export interface ReadSession {
  readonly journal: ScriptedJournal;
  readonly end: SessionEnd | undefined;
  /** The reader has made room, or has gone. */
  advanced(reader: SessionReader, isGone: boolean): void;
}

/** One subscription to a session: replay, then live output, then one end. It takes no more than its window at a time. */
export class SessionReader {
  readonly #session: ReadSession;
  readonly #sink: SessionSink;
  readonly #from: StreamOffsets;
  readonly #windowBytes: number;
  #position: number;
  #untakenBytes = 0;
  #pumping = false;
  #over = false;
  #settle!: () => void;

  /** Resolves when nothing more will be delivered. */
  readonly done = new Promise<void>((resolve) => (this.#settle = resolve));

  constructor(session: ReadSession, sink: SessionSink, from: StreamOffsets, windowBytes: number) {
    this.#session = session;
    this.#sink = sink;
    this.#from = from;
    this.#position = session.journal.first;
    this.#windowBytes = windowBytes;
  }

  /** The position in the journal of what comes next. */
  get position(): number {
    return this.#position;
  }

  /** Delivered and not taken. */
  get untakenBytes(): number {
    return this.#untakenBytes;
  }

  get over(): boolean {
    return this.#over;
  }

  /** Whether everything that was written has been delivered and there is room for more. */
  get hasRoom(): boolean {
    return this.#position === this.#session.journal.next && this.#untakenBytes < this.#windowBytes;
  }

  /** `bytes` were consumed. */
  taken(bytes: number): void {
    this.#untakenBytes -= bytes;
    this.pump();
  }

  /** Delivers what there is room for, synchronously. */
  pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    while (!this.#over && this.#untakenBytes < this.#windowBytes && this.#position < this.#session.journal.next) {
      const frame = this.#session.journal.read(this.#position++, this.#from);
      if (frame === undefined || frame.data.byteLength === 0) continue;
      this.#untakenBytes += frame.data.byteLength;
      this.#sink.frame(frame);
    }
    this.#pumping = false;
    const { end, journal } = this.#session;
    if (!this.#over && end !== undefined && this.#position === journal.next) this.#finish(end);
    else if (!this.#over) this.#session.advanced(this, false);
  }

  /** Takes nothing more; the sink is told nothing. Idempotent. */
  leave(): void {
    if (this.#over) return;
    this.#over = true;
    this.#session.advanced(this, true);
    this.#settle();
  }

  /** The transport to this reader breaks: the session goes on without it. */
  cut(): void {
    if (this.#over) return;
    this.leave();
    this.#sink.error(closedBeforeExit());
  }

  #finish(end: SessionEnd): void {
    if ('lost' in end) return this.cut();
    this.leave();
    this.#sink.frame(end.exit);
  }
}
