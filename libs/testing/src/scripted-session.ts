import type { Exit, OutputFrame, TerminalSize } from '#libs/contract';
import type { Clock, SessionExit } from '#libs/protocol';
import type { FakeLimits } from './fake-limits.js';
import type { FakeProgram } from './fake-program.js';
import { ScriptedStdin } from './scripted-stdin.js';
import { SessionOutput } from './session-output.js';
import { SessionProcess, type ProcessContext, type ProcessSession } from './session-process.js';
import type { SessionEnd } from './session-reader.js';
import { terminalInput } from './terminal-input.js';

export interface ScriptedSpec extends Omit<ProcessContext, 'frameBytes'> {
  readonly id: string;
  /** As it is listed. */
  readonly command: string;
  /** What runs, or how it ends because nothing can. */
  readonly start: FakeProgram | Exit;
  readonly stdin: boolean;
  readonly detachable: boolean;
  /** Both streams into stdout, as they were written. */
  readonly stderrToStdout: boolean;
  /** Then it is stopped. */
  readonly timeoutMs?: number | undefined;
  /** Of both streams together; beyond it, it is stopped. */
  readonly maxOutputBytes?: number | undefined;
  readonly clock: Clock;
  readonly limits: FakeLimits;
}

/** Milliseconds from TERM to KILL when a command runs into its deadline or limit, or its call is aborted. */
export const LIMIT_GRACE_MS = 2_000;
/** Milliseconds from TERM to KILL when its sandbox goes or sleeps, or its last reader left. */
export const STOP_GRACE_MS = 5_000;

/** A command in memory: it prints, waits, reads stdin and ends as a process does, without one. */
export class ScriptedSession implements ProcessSession {
  readonly id: string;
  readonly detachable: boolean;
  readonly command: string;
  readonly tty: boolean;
  readonly createdAtMs: number;
  readonly output: SessionOutput;
  readonly stdin: ScriptedStdin;
  /** Whoever may write; the newest that asked for it. */
  stdinOwner: object | undefined;
  lastActivityAtMs: number;

  readonly #spec: ScriptedSpec;
  readonly #process: SessionProcess;
  readonly #cancelTimeout: (() => void) | undefined;
  readonly #onEnd: () => void;
  #stoppedBy: 'timeout' | 'output_limit' | undefined;

  /** Starts in a later turn. @param onEnd called once, when it has ended */
  constructor(spec: ScriptedSpec, onEnd: () => void = () => {}) {
    const { clock, limits, timeoutMs } = spec;
    this.#spec = spec;
    this.#onEnd = onEnd;
    this.id = spec.id;
    this.detachable = spec.detachable;
    this.command = spec.command;
    this.tty = spec.size !== undefined;
    this.createdAtMs = this.lastActivityAtMs = clock.now();
    const changed = (): void => this.#process.changed();
    this.output = new SessionOutput(limits, !this.tty, changed);
    this.stdin = new ScriptedStdin(spec.stdin, limits.pipeBytes, changed);
    this.#process = new SessionProcess(this, { ...spec, frameBytes: limits.frameBytes });
    if (timeoutMs !== undefined) this.#cancelTimeout = clock.after(timeoutMs, () => this.#stopAt('timeout'));
    void this.#process.run(spec.start);
  }

  get end(): SessionEnd | undefined {
    return this.output.end;
  }

  /** Resolves when nothing of it runs any more, not even in the background. */
  get over(): Promise<void> {
    return this.#process.over;
  }

  /** What its reader wrote. @throws {SandboxError} see {@link ScriptedStdin.write} */
  async write(data: Uint8Array): Promise<void> {
    if (!this.tty) return this.stdin.write(data);
    for (const part of terminalInput(data)) {
      if (part === 'interrupt') this.#process.signal('SIGINT');
      else if (part === 'eof') this.stdin.endOfInput();
      else await this.stdin.write(part);
    }
  }

  resize(size: TerminalSize): void {
    this.#process.resize(size);
  }

  /** Does nothing once it is over. Without a handler of the command it has then ended when this returns. */
  signal(name: NodeJS.Signals): void {
    this.#process.signal(name);
  }

  /** TERM, then KILL; without a grace KILL at once. Resolves when nothing of it is left. */
  async stop(graceMs: number): Promise<void> {
    this.signal(graceMs > 0 ? 'SIGTERM' : 'SIGKILL');
    if (this.#process.isOver) return;
    const cancel = this.#spec.clock.after(graceMs, () => this.signal('SIGKILL'));
    await this.over;
    cancel();
  }

  /** Stands still while its sandbox sleeps. */
  freeze(frozen: boolean): void {
    this.#process.freeze(frozen);
  }

  get discards(): boolean {
    return this.end !== undefined || this.#stoppedBy === 'output_limit';
  }

  hasRoom(bytes: number): boolean {
    return this.output.hasRoom(bytes);
  }

  append(stream: OutputFrame['type'], data: Uint8Array): void {
    const { maxOutputBytes = Infinity, stderrToStdout } = this.#spec;
    const { stdout, stderr } = this.output.journal.offsets;
    if (stdout + stderr + data.byteLength > maxOutputBytes) return this.#stopAt('output_limit');
    this.lastActivityAtMs = this.#spec.clock.now();
    this.output.append(stderrToStdout || this.tty ? 'stdout' : stream, data);
  }

  finish(exit: Exit): void {
    const stopped: Partial<SessionExit> = this.#stoppedBy
      ? { stoppedBy: this.#stoppedBy, gone: this.#process.isOver }
      : {};
    this.#close({ exit: { type: 'exit', ...exit, ...stopped } });
  }

  lose(): void {
    this.#close({ lost: true });
  }

  #stopAt(by: 'timeout' | 'output_limit'): void {
    this.#stoppedBy ??= by;
    void this.stop(LIMIT_GRACE_MS);
  }

  #close(end: SessionEnd): void {
    if (this.end !== undefined) return;
    this.lastActivityAtMs = this.#spec.clock.now();
    this.#cancelTimeout?.();
    this.stdin.end();
    this.output.close(end);
    this.#process.changed();
    this.#onEnd();
  }
}
