import type { CommandStream, SandboxError, StreamOffsets } from '#libs/contract';
import { withinDeadline, type Deadline } from './deadline.js';
import { FirstWord } from './first-word.js';
import { closedBeforeExit, journalFailed, malformedWord, sessionLost, streamGap } from './journal-errors.js';
import { recordedExit, type JournalRecord } from './journal-parser.js';
import { parsed, type OpenReader, type RecordSink, type ShProcess } from './sh-process.js';
import { readProgram } from './shim.js';
import { exitOf } from './recorded-exit.js';
import type { StdinTaken } from './stdin-taken.js';

/** Bytes that wait for the reader: at the first number live output is dropped, at the second it is read again. */
const DROP_BYTES = 4 * 1024 * 1024;
const RESUME_BYTES = 1024 * 1024;
/** Pieces of up to 1 MiB that a reader of the journal may be ahead. */
const CREDITS = 4;
/** Readers that fail one after the other before the output counts as lost, and the first wait between two. */
const MAX_FAILURES = 5;
const RETRY_MS = 250;
/** The longest that a service is heeded which asks to be left alone. */
const MAX_RETRY_MS = 60_000;
/** One that was there for so long had not failed, however its stream then ended. */
const STEADY_MS = 10_000;

const CREDIT = Buffer.from('\n');

export interface JournalFeedInit {
  readonly nonce: string;
  readonly stream: CommandStream;
  readonly openReader: OpenReader;
  /**
   * Waited for before a reader is opened again: while the sandbox is meant to stand still. Gives whether it was.
   *
   * @default it never is
   */
  readonly ready?: () => Promise<boolean>;
  /** For a reader to be there, in milliseconds. */
  readonly timeoutMs: number;
  /** What lives on when the way to it is lost; then the journal says how it ended. */
  readonly survives: boolean;
  /** Told what the pump of stdin took, however far the output has been read. @default nobody is */
  readonly taken?: StdinTaken;
  /** Called once, when nothing more is delivered. */
  readonly onEnd: () => void;
}

/**
 * Feeds a command's output into its stream: live while the reader keeps up, else from the journal in the sandbox, at
 * the reader's pace. Where live output stops, through a slow reader or a lost connection, a program that reads the
 * journal goes on at the very next byte. Ends with the recorded exit, after exactly as many bytes as are recorded.
 */
export class JournalFeed {
  readonly #init: JournalFeedInit;
  #next: { stdout: number; stderr: number } = { stdout: 0, stderr: 0 };
  #mode: 'live' | 'waiting' | 'reading' | 'ended' = 'live';
  #reader: ShProcess | undefined;
  #generation = 0;
  #owed = 0;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  readonly #stopped = new AbortController();

  constructor(init: JournalFeedInit) {
    this.#init = init;
  }

  /** What the shim itself prints. */
  readonly live: RecordSink = {
    record: (record) => {
      if (this.#mode === 'live' || isTaken(record)) this.#take(record);
    },
    closed: (error) => {
      if (this.#mode !== 'live') return;
      if (!this.#init.survives) return this.#fail(closedBeforeExit(error));
      this.#mode = 'waiting';
      this.#resume();
    },
  };

  /**
   * Reads from the journal from the beginning on.
   *
   * @returns what the reader says first; unless that is `f`, nothing will be fed
   */
  async attach(from: StreamOffsets | 'now', deadline: Deadline): Promise<readonly string[]> {
    const at = from === 'now' ? ({ stdout: 'now', stderr: 'now' } as const) : from;
    const word = await this.#open(at, false, deadline);
    if (word[0] !== 'f') this.stop();
    return word;
  }

  /** Output was taken by the reader, or dropped. */
  taken(): void {
    if (this.#mode === 'waiting') this.#resume();
    else this.#grant();
  }

  /** Any number of times. */
  stop(): void {
    if (this.#mode === 'ended') return;
    this.#mode = 'ended';
    clearTimeout(this.#retry);
    this.#stopped.abort();
    this.#reader?.close();
    this.#init.onEnd();
  }

  #take(record: JournalRecord): void {
    if (record.type === 'output') return this.#output(record);
    if (record.type === 'piece') {
      this.#owed += 1;
      return this.#grant();
    }
    if (record.word === 'i') return this.#tell(record.values);
    if (record.word === 'x') return this.#exit(record.values);
    if (record.word === 'l' || record.word === 'n') return this.#fail(sessionLost());
    return this.#fail(malformedWord());
  }

  #output({ stream, offset, data }: Extract<JournalRecord, { type: 'output' }>): void {
    const next = this.#next[stream];
    if (offset > next) return this.#fail(streamGap(stream));
    const fresh = data.subarray(next - offset);
    if (fresh.byteLength === 0) return;
    this.#failures = 0;
    this.#next[stream] = next + fresh.byteLength;
    this.#init.stream.frame({ type: stream, data: fresh, offset: next });
    if (this.#mode === 'live' && this.#init.stream.queuedBytes >= DROP_BYTES) this.#mode = 'waiting';
  }

  #tell(values: readonly string[]): void {
    try {
      this.#init.taken?.tell(values);
    } catch (error) {
      this.#fail(error as SandboxError);
    }
  }

  #exit(values: readonly string[]): void {
    try {
      const recorded = recordedExit(values);
      for (const stream of ['stdout', 'stderr'] as const) {
        if (recorded[stream] !== this.#next[stream]) return this.#fail(streamGap(stream));
      }
      if (recorded.how === 'j') return this.#fail(journalFailed());
      this.#init.stream.frame({ type: 'exit', ...exitOf(recorded) });
      return this.stop();
    } catch (error) {
      return this.#fail(error as SandboxError);
    }
  }

  #fail(error: SandboxError): void {
    if (this.#mode === 'ended') return;
    this.#init.stream.error(error);
    this.stop();
  }

  #grant(): void {
    if (this.#mode !== 'reading') return;
    while (this.#owed > 0 && this.#reader && this.#init.stream.queuedBytes <= RESUME_BYTES) {
      this.#owed -= 1;
      const reader = this.#reader;
      reader.write(CREDIT).catch((error: unknown) => this.#ungranted(reader, error as SandboxError));
    }
  }

  /** A reader that perhaps got no credit may wait for it for ever. One that has ended has said so, or will. */
  #ungranted(reader: ShProcess, error: SandboxError): void {
    if (reader !== this.#reader || error.code === 'command_exited' || error.code === 'write_failed') return;
    reader.close();
    this.#failed(error);
  }

  /** Goes on from the journal, once there is room. */
  #resume(): void {
    if (this.#init.stream.queuedBytes > RESUME_BYTES) return;
    this.#mode = 'reading';
    void this.#reopen();
  }

  async #reopen(): Promise<void> {
    if (await this.#init.ready?.()) this.#failures = 0;
    if (this.#mode === 'ended') return;
    try {
      const reopen = (deadline: Deadline) => this.#open({ ...this.#next }, true, deadline);
      const [word, ...values] = await withinDeadline(this.#init.timeoutMs, this.#stopped.signal, reopen);
      if (word === 'n') this.#fail(sessionLost());
      else if (word !== 'f' || values.length !== 3) this.#fail(malformedWord());
    } catch (error) {
      this.#failed(error as SandboxError);
    }
  }

  #failed(error: SandboxError): void {
    if (this.#mode === 'ended') return;
    this.#reader = undefined;
    this.#failures += 1;
    if (this.#failures >= MAX_FAILURES || error.code === 'not_found' || error.code === 'denied') {
      return this.#fail(closedBeforeExit(error));
    }
    const askedMs = Math.min(error.retryAfterMs ?? 0, MAX_RETRY_MS);
    this.#retry = setTimeout(() => void this.#reopen(), Math.max(askedMs, RETRY_MS * 2 ** (this.#failures - 1)));
  }

  async #open(
    at: { readonly stdout: number | 'now'; readonly stderr: number | 'now' },
    takeOver: boolean,
    deadline: Deadline,
  ): Promise<readonly string[]> {
    const generation = ++this.#generation;
    const isCurrent = (): boolean => this.#generation === generation && this.#mode !== 'ended';
    let openedAtMs: number | undefined;
    let lost: SandboxError | undefined;
    let hasSpoken = false;
    const first = new FirstWord({
      record: (record) => {
        if (isCurrent()) this.#take(record);
      },
      closed: (error) => {
        if (!isCurrent()) return;
        lost = error;
        if (openedAtMs === undefined) return;
        if (performance.now() - openedAtMs >= STEADY_MS) this.#failures = 0;
        this.#failed(error);
      },
    });
    this.#mode = 'reading';
    this.#owed = 0;
    // What follows the first word comes in the same turn, so the offsets are taken from it at once.
    const sink: RecordSink = {
      record: (record) => {
        hasSpoken = true;
        if (record.type === 'word' && record.word === 'f') this.#begin(record.values);
        first.record(record);
      },
      closed: (error) => first.closed(error),
    };
    const from = { ...at, credits: CREDITS, takeOver };
    const program = readProgram(this.#init.nonce, from);
    const reader = await this.#init.openReader(program, parsed(sink), deadline, from);
    if (!isCurrent()) {
      reader.close();
      // One that came too late says nothing more; one that has said everything already was heard.
      if (!hasSpoken) throw closedBeforeExit();
    }
    this.#reader = reader;
    try {
      const word = await deadline.race(first.arrived, 'none');
      openedAtMs = performance.now();
      // Right behind its first word.
      if (lost !== undefined) this.#failed(lost);
      this.#grant();
      return word;
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  #begin([stdout, stderr]: readonly string[]): void {
    this.#next = { stdout: Number(stdout), stderr: Number(stderr) };
  }
}

function isTaken(record: JournalRecord): boolean {
  return record.type === 'word' && record.word === 'i';
}
