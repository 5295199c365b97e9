import { constants } from 'node:os';
import type { Exit, OutputFrame, StreamOffsets } from '#libs/contract';
import { replayEvicted, type Clock, type SessionExit, type SessionSink } from '#libs/protocol';
import { beyondEnd } from './fake-errors.js';
import type { FakeLimits } from './fake-limits.js';
import { parseScript, type Instruction } from './instruction.js';
import { ScriptedJournal } from './scripted-journal.js';
import { ScriptedStdin } from './scripted-stdin.js';
import { SessionReader, type ReadSession, type SessionEnd } from './session-reader.js';

export interface ScriptedSpec {
  readonly id: string;
  /** As it is listed. */
  readonly command: string;
  /** See `parseScript`. */
  readonly words: readonly string[];
  readonly stdin: boolean;
  readonly detachable: boolean;
  /** Then it gets TERM. */
  readonly timeoutMs?: number | undefined;
  /** Of both streams together; beyond it, it gets TERM. */
  readonly maxOutputBytes?: number | undefined;
  readonly clock: Clock;
  readonly limits: FakeLimits;
}

const ECHO = Buffer.from('echo:');
const BEGINNING: StreamOffsets = Object.freeze({ stdout: 0, stderr: 0 });

/** A command that is played from words: it prints, waits, reads stdin and ends as a process does, without one. */
export class ScriptedSession implements ReadSession {
  readonly id: string;
  readonly detachable: boolean;
  readonly command: string;
  readonly createdAtMs: number;
  readonly journal = new ScriptedJournal();
  readonly stdin: ScriptedStdin;
  /** Whoever may write; the newest that asked for it. */
  stdinOwner: object | undefined;
  lastActivityAtMs: number;
  end: SessionEnd | undefined;

  readonly #spec: ScriptedSpec;
  readonly #readers = new Set<SessionReader>();
  readonly #cancelTimeout: (() => void) | undefined;
  readonly #onEnd: () => void;
  #held = false;
  #frozen = false;
  #resume: (() => void) | undefined;

  /** Starts in a later turn, when whoever started it had time to read. @param onEnd called once, when it has ended */
  constructor(spec: ScriptedSpec, onEnd: () => void = () => {}) {
    this.#spec = spec;
    this.#onEnd = onEnd;
    this.id = spec.id;
    this.detachable = spec.detachable;
    this.command = spec.command;
    this.createdAtMs = this.lastActivityAtMs = spec.clock.now();
    this.stdin = new ScriptedStdin(spec.stdin, spec.limits.pipeBytes, () => this.#changed());
    if (spec.timeoutMs !== undefined) {
      this.#cancelTimeout = spec.clock.after(spec.timeoutMs, () => this.kill('SIGTERM', 'timeout'));
    }
    void this.#play();
  }

  get readers(): number {
    return this.#readers.size;
  }

  /**
   * Joins it. What is there already is delivered before this returns.
   *
   * @throws {SandboxError} `invalid` / `offset_beyond_end`; `truncated` / `replay_evicted`
   */
  attach(
    sink: SessionSink,
    from: StreamOffsets | 'now' = BEGINNING,
    windowBytes = this.#spec.limits.windowBytes,
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

  /** Ends it as the signal does; it has then ended when this returns. Does nothing after its end. */
  kill(signal: NodeJS.Signals, stoppedBy?: 'timeout' | 'output_limit'): void {
    const exit = { exitCode: 128 + (constants.signals[signal] ?? 0), signal };
    this.#finish(stoppedBy === undefined ? exit : { ...exit, stoppedBy, gone: true });
  }

  /** A reader that left means to come back: nothing of the output is given up meanwhile. */
  hold(held: boolean): void {
    this.#held = held;
    this.#changed();
  }

  /** Stands still while its sandbox sleeps. */
  freeze(frozen: boolean): void {
    this.#frozen = frozen;
    this.#changed();
  }

  /** The transport to every reader breaks. */
  cut(): void {
    for (const reader of this.#readers) reader.cut();
  }

  advanced(reader: SessionReader, isGone: boolean): void {
    if (isGone) this.#readers.delete(reader);
    this.#changed();
  }

  async #play(): Promise<void> {
    const script = parseScript(this.#spec.words);
    await this.#until(() => true);
    if ('startError' in script) return this.#finish({ exitCode: 127, startError: script.startError });
    for (const instruction of script) {
      await this.#do(instruction);
      if (this.end !== undefined) return;
    }
    this.#finish({ exitCode: 0 });
  }

  async #do(instruction: Instruction): Promise<void> {
    switch (instruction.does) {
      case 'print':
        return this.#print(instruction.stream, instruction.data);
      case 'exit':
        return this.#finish({ exitCode: instruction.code });
      case 'stay':
        return this.#echo();
      case 'drop':
        return this.#close({ lost: true });
    }
  }

  async #echo(): Promise<void> {
    for (;;) {
      await this.#until(() => this.stdin.readable);
      const read = this.stdin.read();
      if (!(read instanceof Uint8Array)) return;
      await this.#print('stdout', Buffer.concat([ECHO, read]));
    }
  }

  async #print(stream: OutputFrame['type'], data: Uint8Array): Promise<void> {
    const { limits, maxOutputBytes = Infinity } = this.#spec;
    for (let at = 0; at < data.byteLength; at += limits.frameBytes) {
      const piece = data.subarray(at, at + limits.frameBytes);
      await this.#until(() => this.#hasRoom(piece.byteLength));
      if (this.end !== undefined) return;
      const { stdout, stderr } = this.journal.offsets;
      if (stdout + stderr + piece.byteLength > maxOutputBytes) return this.kill('SIGTERM', 'output_limit');
      this.journal.evict(Math.max(0, limits.journalBytes - piece.byteLength));
      this.journal.append(stream, piece);
      this.lastActivityAtMs = this.#spec.clock.now();
      for (const reader of this.#readers) reader.pump();
    }
  }

  /** A process that nobody reads runs on; what it writes beyond the journal's cap pushes out the oldest. */
  #hasRoom(bytes: number): boolean {
    if (this.#held && this.journal.bytes + bytes > this.#spec.limits.journalBytes) return false;
    for (const reader of this.#readers) if (!reader.hasRoom) return false;
    return true;
  }

  /** Waits, one turn at least, until it has ended or `ready` says so of a session that may run. */
  async #until(ready: () => boolean): Promise<void> {
    await Promise.resolve();
    while (this.end === undefined && (this.#frozen || !ready())) {
      await new Promise<void>((resolve) => (this.#resume = resolve));
    }
  }

  #changed(): void {
    this.#resume?.();
    this.#resume = undefined;
  }

  #finish(exit: Exit & Pick<SessionExit, 'stoppedBy' | 'gone'>): void {
    this.#close({ exit: { type: 'exit', ...exit } });
  }

  #close(end: SessionEnd): void {
    if (this.end !== undefined) return;
    this.end = end;
    this.lastActivityAtMs = this.#spec.clock.now();
    this.#cancelTimeout?.();
    this.stdin.end();
    this.#changed();
    for (const reader of this.#readers) reader.pump();
    this.#onEnd();
  }
}
