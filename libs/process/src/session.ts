import { SandboxError, type Exit, type StreamOffsets } from '#libs/contract/core';
import { exitOf, type Child } from './child.js';
import { isDiskFull } from './errors.js';
import { HEADER_BYTES, type Stream } from './journal-record.js';
import type { JournalWriter } from './journal-writer.js';
import type { JournalView, SessionDescription, SessionEnd, SessionSpec, SessionTail } from './keeper.js';
import type { KeeperLimits } from './limits.js';
import { OutputEnd } from './output-end.js';
import { OutputPipe } from './output-pipe.js';
import { ProcessGroup } from './process-group.js';
import type { ProcessEntry } from './process-table.js';
import type { StdinPipe } from './stdin-pipe.js';
import { StdinQueue } from './stdin-queue.js';
import { stopProcesses, type StopHow } from './stop-processes.js';

/** What a session tells its sandbox. */
export interface SessionEvents {
  /** Its journal is `bytes` longer. */
  grew(session: Session, bytes: number): void;
  /** Its tail has `ended`; what is left of its processes may live on. */
  ended(session: Session): void;
  /** No process of its group is left and nobody holds its pipes. */
  quiet(session: Session): void;
}

/** A longer timer of Node would fire at once: more than 24 days are no timeout. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const LONGEST_COMMAND_SHOWN = 1_024;

/** What is kept of what was asked for: arguments and environment may be megabytes, and hold secrets. */
type KeptSpec = {
  readonly [Key in 'sandbox' | 'stdin' | 'detachable' | 'timeoutMs' | 'maxOutputBytes']: SessionSpec[Key];
};

/** One process group, its output in a journal, and how it ended. */
export class Session {
  reach: StreamOffsets | 'detached' | 'hold' = { stdout: 0, stderr: 0 };
  readonly spec: KeptSpec;
  readonly #command: string;
  readonly #createdAt = new Date();
  #lastActivityAt = this.#createdAt;
  #group: ProcessGroup | undefined;
  #pipes: OutputPipe[] = [];
  #stdinPipe: StdinPipe | undefined;
  #stdin: StdinQueue | undefined;
  #timeout: NodeJS.Timeout | undefined;
  /** Output is read to nowhere from here on. */
  #discarding = false;
  #outputEnd: OutputEnd | undefined;
  #outputComplete = false;
  #exit: Exit | undefined;
  #stopped: { readonly by: 'timeout' | 'output_limit'; gone?: boolean } | undefined;
  #end: SessionEnd | undefined;
  #finish: () => void = () => {};
  /** Resolves when the tail has `ended`. */
  readonly finished = new Promise<void>((resolve) => (this.#finish = resolve));

  constructor(
    readonly id: string,
    { sandbox, cmd, args, stdin, detachable, timeoutMs, maxOutputBytes }: SessionSpec,
    private readonly journal: JournalWriter,
    private readonly limits: KeeperLimits,
    private readonly events: SessionEvents,
  ) {
    this.spec = { sandbox, stdin, detachable, timeoutMs, maxOutputBytes };
    this.#command = shown(cmd, args);
  }

  get tail(): SessionTail {
    const { position, offsets } = this.journal;
    return { sandbox: this.spec.sandbox, id: this.id, position, offsets, ...(this.#end && { ended: this.#end }) };
  }

  get view(): JournalView {
    return { ...this.tail, directory: this.journal.directory, oldest: this.journal.oldest };
  }

  get description(): SessionDescription {
    return {
      id: this.id,
      command: this.#command,
      createdAt: this.#createdAt.toISOString(),
      lastActivityAt: this.#lastActivityAt.toISOString(),
      tty: false,
    };
  }

  get ended(): boolean {
    return this.#end !== undefined;
  }

  get leaderRunning(): boolean {
    return this.#group?.leaderRunning ?? false;
  }

  get groups(): readonly ProcessGroup[] {
    return this.#group ? [this.#group] : [];
  }

  /** Bytes of its journal that lie on the disk. */
  get kept(): number {
    return this.journal.kept;
  }

  /** Whether nobody misses it when it is dropped: it has ended, and everything was read or nobody reads. */
  get unread(): boolean {
    const { reach } = this;
    if (reach === 'detached') return true;
    const { stdout, stderr } = this.journal.offsets;
    return reach !== 'hold' && stdout + stderr > 0 && reach.stdout >= stdout && reach.stderr >= stderr;
  }

  /** A program that could not be started. */
  failToStart(exit: Exit): void {
    this.#exit = exit;
    this.#outputComplete = true;
    this.#finishIfComplete();
  }

  run(child: Child): void {
    const group = new ProcessGroup(child.pid, this.id);
    this.#group = group;
    child.process.on('error', () => {});
    child.process.once('exit', (code, signal) => this.#exited(exitOf(code, signal)));
    this.#stdinPipe = child.stdin;
    if (child.stdin) this.#stdin = new StdinQueue(child.stdin.stream, group.leaderExit);
    this.#pipes = [this.#pipe('stdout', child.stdout)];
    if (child.stderr !== undefined) this.#pipes.push(this.#pipe('stderr', child.stderr));
    const { timeoutMs = Infinity } = this.spec;
    if (timeoutMs <= LONGEST_TIMER_MS) this.#timeout = setTimeout(() => this.#stopAt('timeout'), timeoutMs);
  }

  /** Stops reading at the journal's cap: the process blocks. After its exit the little that is left is always read. */
  pause(): void {
    if (this.leaderRunning && !this.#discarding) for (const pipe of this.#pipes) pipe.pause();
  }

  get paused(): boolean {
    return this.#pipes.some((pipe) => pipe.paused);
  }

  resume(): void {
    for (const pipe of this.#pipes) pipe.resume();
  }

  /** @returns the bytes freed, 0 if what is oldest may not go */
  evictOldest(): number {
    const before = this.journal.kept;
    return this.journal.evictOldest(this.reach) ? before - this.journal.kept : 0;
  }

  async write(offset: number | 'next', data: Uint8Array): Promise<{ applied: number }> {
    if (!this.spec.stdin) throw new SandboxError('invalid', { detail: 'stdin_not_open' });
    if (!this.#stdin) throw new SandboxError('command_exited');
    this.#lastActivityAt = new Date();
    return await this.#stdin.write(offset, data);
  }

  async closeStdin(): Promise<void> {
    await this.#stdin?.close();
  }

  /** @returns whether no process of the session is left */
  async stop(how: StopHow): Promise<boolean> {
    const scope = { groups: this.groups, marked: ({ sessionMarker }: ProcessEntry) => sessionMarker === this.id };
    const gone = await stopProcesses(scope, how);
    if (gone) for (const group of this.groups) group.onlyZombies();
    return gone;
  }

  /** Its groups, where they are all that keeps it from being quiet. */
  get lingering(): readonly ProcessGroup[] {
    return this.ended && this.#pipes.every((pipe) => pipe.ended) ? this.groups : [];
  }

  /** Whether nothing of it runs or holds its pipes any more. */
  get quiet(): boolean {
    return (
      this.groups.every((group) => !group.leaderRunning && !group.look()) && this.#pipes.every((pipe) => pipe.ended)
    );
  }

  /** Gives up the pipes: whoever still writes gets SIGPIPE. */
  release(): void {
    clearTimeout(this.#timeout);
    this.journal.close();
    this.#stdinPipe?.release();
    for (const pipe of this.#pipes) pipe.destroy();
  }

  #pipe(stream: Stream, fd: number): OutputPipe {
    return new OutputPipe(fd, {
      data: (block, view) => this.#output(stream, block, view),
      end: () => this.#pipeEnded(),
      error: (error) => this.#pipeFailed(error),
    });
  }

  #output(stream: Stream, block: Uint8Array, view: DataView): void {
    if (this.#discarding || this.#end) return;
    try {
      this.journal.append(stream, block, view);
    } catch (error) {
      this.#lose(error);
      return;
    }
    this.#lastActivityAt = new Date();
    this.#outputEnd?.data(stream, block.length - HEADER_BYTES);
    const { stdout, stderr } = this.journal.offsets;
    if (stdout + stderr > (this.spec.maxOutputBytes ?? Infinity)) this.#stopAt('output_limit');
    this.events.grew(this, block.length);
  }

  #pipeEnded(): void {
    if (!this.#pipes.every((pipe) => pipe.ended)) return;
    this.#outputEnd?.finish();
    if (this.#end && this.quiet) this.events.quiet(this);
  }

  /** What follows is unknown, so an exit after it would claim an output that is whole. */
  #pipeFailed(error: Error): void {
    if (!this.#end && !this.#discarding) this.#lose(error);
  }

  #exited(exit: Exit): void {
    this.#exit = exit;
    this.#group?.leaderExited();
    clearTimeout(this.#timeout);
    this.#outputEnd = new OutputEnd(this.limits, () => {
      this.#outputComplete = true;
      this.#finishIfComplete();
    });
    if (this.#discarding || this.#pipes.every((pipe) => pipe.ended)) this.#outputEnd.finish();
    this.resume();
  }

  #stopAt(by: 'timeout' | 'output_limit'): void {
    if (this.#stopped || this.#end) return;
    const stopped: { readonly by: typeof by; gone?: boolean } = { by };
    this.#stopped = stopped;
    if (by === 'output_limit') {
      this.#discarding = true;
      this.#outputEnd?.finish();
    }
    void this.stop({ graceMs: this.limits.limitGraceMs }).then(
      (gone) => this.#stopSettled(gone),
      () => this.#stopSettled(false),
    );
  }

  #stopSettled(gone: boolean): void {
    this.#stopped!.gone = gone;
    this.#finishIfComplete();
  }

  #finishIfComplete(): void {
    if (this.#end || !this.#exit || !this.#outputComplete) return;
    if (this.#stopped && this.#stopped.gone === undefined) return;
    const end: SessionEnd = {
      exit: this.#exit,
      ...(this.#stopped && { stoppedBy: this.#stopped.by, gone: this.#stopped.gone ?? false }),
    };
    const before = this.journal.position;
    try {
      this.journal.appendEnd(end);
      this.#ended(end, this.journal.position - before);
    } catch (error) {
      this.#lose(error);
    }
  }

  /** Nothing can be recorded any more, so its outcome would be known to nobody: the session ends here. */
  #lose(error: unknown): void {
    this.#discarding = true;
    this.resume();
    void this.#kill();
    this.#ended({ lost: isDiskFull(error) ? 'disk_full' : 'journal_failed' }, 0);
  }

  async #kill(): Promise<void> {
    try {
      await this.stop({ signal: 'SIGKILL', graceMs: 0 });
    } catch {
      // The process table could not be read. Suspend, destroy and the next daemon try again.
    }
  }

  #ended(end: SessionEnd, bytes: number): void {
    this.#end = end;
    clearTimeout(this.#timeout);
    this.journal.close();
    this.events.grew(this, bytes);
    this.events.ended(this);
    if (this.quiet) this.events.quiet(this);
    this.#finish();
  }
}

/** A copy: a slice of a long string holds on to all of it. */
function shown(cmd: string, args: readonly string[]): string {
  const command = [cmd, ...args].join(' ').slice(0, LONGEST_COMMAND_SHOWN);
  return Buffer.from(command, 'utf16le').toString('utf16le');
}
