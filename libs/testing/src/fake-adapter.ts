import {
  CommandStream,
  DEFAULT_TRAITS,
  SANDBOX_CAPABILITIES,
  SandboxAdapter,
  SandboxError,
  StreamingCommand,
  collectBytes,
  invalidArgument,
  sandboxHandle,
  type AttachRequest,
  type CallOptions,
  type Checkpoint,
  type CommandChannel,
  type CreateOptions,
  type ExecRequest,
  type ExecResult,
  type FileEntry,
  type FileStat,
  type NetworkPolicy,
  type SandboxCapability,
  type SandboxCommand,
  type SandboxHandle,
  type SandboxInfo,
  type SandboxSession,
  type SandboxTraits,
  type SpawnRequest,
  type StreamOffsets,
  type TerminateRequest,
  type WriteFileRequest,
} from '#libs/contract';
import type { SessionSink } from '#libs/protocol';
import { ExecSink } from './exec-sink.js';
import { FakeChannel } from './fake-channel.js';
import { offline, sessionLost, sourceFailed, timedOut } from './fake-errors.js';
import { fakeExec, isLost } from './fake-exec.js';
import { FakeMachine, type FakeMachineOptions } from './fake-machine.js';
import type { FakeSandbox } from './fake-sandbox.js';
import { Faults, type FaultOptions, type FaultyOperation } from './faults.js';
import type { ScriptedSession } from './scripted-session.js';
import { untilAborted, whileWanted } from './until-aborted.js';

/** What a {@link FakeAdapter} can do unless it is made less capable. */
export const FAKE_CAPABILITIES: ReadonlySet<SandboxCapability> = new Set(SANDBOX_CAPABILITIES);

/** What a {@link FakeAdapter} is and can do. */
export interface FakeAdapterOptions extends FakeMachineOptions {
  /** The provider's tag, unless a module binds another. @default 'fake' */
  readonly tag?: string;
  /** A subset of {@link FAKE_CAPABILITIES}; what is left out is `not_supported`. @default all of them */
  readonly capabilities?: Iterable<SandboxCapability>;
  /**
   * Another fake whose sandboxes it serves, as two clients of one account do; of the machine it is then that one's
   * options that count.
   *
   * @default it has sandboxes of its own
   */
  readonly account?: FakeAdapter;
}

/**
 * A provider in memory, for tests without a network: a real adapter whose commands are running things that emit
 * frames. What they do is code, a {@link FakeProgram}, or in their words, one instruction each, carried out in order:
 *
 * - `out:<data>`, `err:<data>` print the text as UTF-8, without a line feed;
 * - `stay` prints what it reads from stdin, each piece as `echo:<data>`, until EOF; where stdin was not opened it stays
 *   until it is stopped;
 * - `exit:<0-255>` ends with that code; so does the end of the words, with 0;
 * - `drop` closes the transport with no exit: the stream ends `unavailable` / `closed_before_exit`.
 *
 * A word that is none of these is a command that does not start: exit 127 with `startError`. A name before the words
 * stands for nothing, and {@link FakeMachineOptions.script} translates real commands.
 *
 * ```ts
 * const fake = new FakeAdapter({ script: (cmd, args) => (cmd === 'npm' ? ['out:12 passed\n'] : ['exit:1']) });
 * const box = await fake.create('box');
 * await fake.writeFile(box, 'package.json', '{}');
 * const { exitCode } = await fake.exec(box, 'npm', ['test']);
 * expect(fake.file('box', 'package.json')?.toString()).toBe('{}');
 * ```
 *
 * Output waits at {@link FakeLimits.windowBytes} until its reader takes it. Sessions keep their output and can be joined
 * by id, finished ones too; the detachable ones live on without readers, others are stopped with their last one. Ids
 * are counted, nothing is random, and every timer is on the clock that was given.
 *
 * Commands that are ended from outside get TERM and die of it, exit 143, unless they take it; then KILL, exit 137, after
 * the grace of a termination, after 2 s at a deadline, a limit or an abort, and after 5 s otherwise.
 */
export class FakeAdapter extends SandboxAdapter {
  override readonly capabilities: ReadonlySet<SandboxCapability>;
  override readonly traits: SandboxTraits;
  /** What a suspend does to running commands. */
  readonly onSuspend: 'stop' | 'freeze';
  readonly #machine: FakeMachine;
  readonly #faults = new Faults();

  /** @throws {SandboxError} `invalid` / `argument`: a capability that the fake does not have */
  constructor({ tag = 'fake', capabilities = FAKE_CAPABILITIES, account, ...machine }: FakeAdapterOptions = {}) {
    super(tag);
    this.capabilities = new Set(capabilities);
    for (const one of this.capabilities) {
      if (!FAKE_CAPABILITIES.has(one)) throw invalidArgument(`capabilities: the fake has no ${one}`);
    }
    this.#machine = account === undefined ? new FakeMachine(machine) : account.#machine;
    this.onSuspend = this.#machine.onSuspend;
    this.traits = { ...DEFAULT_TRAITS, sessionsOnSuspend: this.onSuspend === 'stop' ? 'end' : 'survive' };
  }

  /** The policy that was applied last, if the sandbox exists and has one. */
  policy(name: string): NetworkPolicy | undefined {
    return this.#machine.find(name)?.policy;
  }

  /** A copy of a file's content, if it exists. Relative paths begin in the home directory. */
  file(name: string, path: string): Buffer | undefined {
    return this.#machine.find(name)?.files.peek(path);
  }

  /** Calls that have reached the provider, failed ones included. What is refused before any I/O does not count. */
  get requests(): number {
    return this.#faults.calls;
  }

  /**
   * The next calls of `operation` reject with `error`; several faults of one operation are met in their order.
   *
   * @returns takes back those that no call has met
   */
  failNext(operation: FaultyOperation, error: SandboxError, options?: FaultOptions): () => void {
    return this.#faults.add(operation, error, options);
  }

  /**
   * The provider takes what is sent and answers nothing, neither to calls nor to commands, and no output of a spawn
   * arrives, until what this gives is called. An exec that had begun goes on.
   *
   * @returns ends it: what waited is carried out and arrives, unless its call was aborted or ran into its deadline
   */
  stall(): () => void {
    return this.#faults.stall();
  }

  /** While offline every call is `unavailable` with effect `none`. What runs is left alone; see `disconnect`. */
  offline(isOffline: boolean): void {
    this.#faults.offline = isOffline;
  }

  /** Every command's transport breaks: `unavailable` / `closed_before_exit`. Detachable sessions live on. */
  disconnect(): void {
    this.#machine.cut();
  }

  /**
   * Between a session and the command that reads it. Override to spoil what arrives, as a defective adapter would.
   */
  protected sink(sink: SessionSink): SessionSink {
    return sink;
  }

  /** As `sink`, the other way: what a command is asked to write, close, resize or stop. */
  protected channel(channel: CommandChannel): CommandChannel {
    return channel;
  }

  /** What a call acts on. Override to mix it up. @throws {SandboxError} `not_found`, also for another incarnation */
  protected sandbox({ name, instanceId }: SandboxHandle): FakeSandbox {
    return this.#machine.get(name, instanceId);
  }

  protected override doCapabilitiesOf(): ReadonlySet<SandboxCapability> {
    if (this.#faults.offline) throw offline();
    return this.capabilities;
  }

  protected override doCreate(name: string, options?: CreateOptions): Promise<SandboxHandle> {
    return this.#faults.run('create', options, () => {
      this.#machine.create(name);
      return sandboxHandle(this.provider, name);
    });
  }

  protected override doCreateNew(name: string, options: CreateOptions): Promise<SandboxHandle> {
    return this.#faults.run('createNew', options, () => {
      if (this.#machine.find(name)) throw new SandboxError('already_exists', { message: `'${name}' exists already` });
      return sandboxHandle(this.provider, name, this.#machine.create(name).instanceId);
    });
  }

  protected override doGet(handle: SandboxHandle, options?: CallOptions): Promise<SandboxInfo> {
    return this.#faults.run('get', options, () => {
      const { name, instanceId, status } = this.sandbox(handle);
      return { status, raw: { name, instanceId, status } };
    });
  }

  protected override doDestroy({ name, instanceId }: SandboxHandle, options: CallOptions): Promise<void> {
    const destroy = () => untilAborted(options.signal, 'unknown', this.#machine.destroy(name, instanceId));
    return this.#faults.run('destroy', options, destroy);
  }

  protected override doListAllNames(options?: CallOptions): Promise<string[]> {
    return this.#faults.run('listAllNames', options, () => this.#machine.names);
  }

  protected override doSuspend(handle: SandboxHandle, options: CallOptions): Promise<void> {
    const suspend = () => untilAborted(options.signal, 'unknown', this.sandbox(handle).suspend());
    return this.#faults.run('suspend', options, suspend);
  }

  protected override doResume(handle: SandboxHandle, options?: CallOptions): Promise<SandboxHandle> {
    return this.#faults.run('resume', options, () => {
      this.sandbox(handle).resume();
      return sandboxHandle(this.provider, handle.name, handle.instanceId);
    });
  }

  protected override doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
    const { path, content, mode, signal } = request;
    return this.#faults.run('writeFile', request, async () => {
      this.sandbox(handle);
      const pieces = content instanceof Uint8Array || !signal ? content : whileWanted(signal, content);
      const data = await untilAborted(signal, 'none', collectBytes(pieces, this.#machine.limits.fileBytes)).catch(
        (error: unknown) => Promise.reject(error instanceof SandboxError ? error : sourceFailed(error)),
      );
      // It may have gone while its content came in.
      const sandbox = this.sandbox(handle);
      sandbox.files.write(path, data, mode);
      sandbox.resume();
    });
  }

  protected override doReadFile(handle: SandboxHandle, path: string, options?: CallOptions): Promise<Uint8Array> {
    return this.#faults.run('readFile', options, () => this.sandbox(handle).files.read(path));
  }

  protected override doListFiles(handle: SandboxHandle, path: string, options?: CallOptions): Promise<FileEntry[]> {
    return this.#faults.run('listFiles', options, () => this.sandbox(handle).files.list(path));
  }

  protected override doStatFile(handle: SandboxHandle, path: string, options?: CallOptions): Promise<FileStat> {
    return this.#faults.run('statFile', options, () => this.sandbox(handle).files.stat(path));
  }

  protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
    const { cmd, args, env, dir, stderrToStdout } = request;
    const timeoutMs = this.#faults.stalled ? await this.#timeLeft(request) : request.timeoutMs;
    return this.#faults.run('exec', request, () => {
      const stdin = request.stdin !== undefined;
      const command = { cmd, args, env, dir, stdin, stderrToStdout, detachable: false, timeoutMs };
      const session = this.sandbox(handle).exec(command);
      const stream = new CommandStream();
      const sink = new ExecSink(stream, timeoutMs);
      return fakeExec(session, this.#command({ handle, session, stream, sink, from: 'now', stdin }), request);
    });
  }

  protected override doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
    const { cmd, args, env, dir, stdin, tty, detachable } = request;
    const spawn = (): SandboxCommand => {
      const session = this.sandbox(handle).spawn({ cmd, args, env, dir, stdin, tty, detachable });
      return this.#command({ handle, session, from: 'now', stdin });
    };
    return this.#faults.run('spawn', request, spawn, (command) => command.stop());
  }

  protected override doListSessions(handle: SandboxHandle, options?: CallOptions): Promise<SandboxSession[]> {
    return this.#faults.run('listSessions', options, () => {
      const sandbox = this.sandbox(handle);
      return sandbox.running().map(({ id, command, createdAtMs, lastActivityAtMs, tty }) => ({
        id,
        command,
        createdAt: sandbox.date(createdAtMs),
        lastActivityAt: sandbox.date(lastActivityAtMs),
        tty,
      }));
    });
  }

  protected override doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
    const { sessionId, from, stdin } = request;
    const attach = (): SandboxCommand => {
      const session = this.sandbox(handle).session(sessionId);
      return this.#command({ handle, session, from, stdin, operation: 'attach' });
    };
    return this.#faults.run('attach', request, attach, (command) => command.stop());
  }

  protected override doTerminateSession(handle: SandboxHandle, request: TerminateRequest): Promise<void> {
    const { sessionId, mode, timeoutMs, signal } = request;
    return this.#faults.run('terminateSession', request, async () => {
      const session = this.sandbox(handle).findSession(sessionId);
      if (session === undefined) return;
      await untilAborted(signal, 'unknown', session.stop(mode === 'force' ? 0 : timeoutMs));
      if (isLost(session)) throw sessionLost();
    });
  }

  protected override doApplyNetworkPolicy(
    handle: SandboxHandle,
    { allow }: NetworkPolicy,
    options?: CallOptions,
  ): Promise<void> {
    return this.#faults.run('applyNetworkPolicy', options, () => {
      this.sandbox(handle).policy = Object.freeze({ allow: Object.freeze([...allow]) });
    });
  }

  /** Nothing listens there: it is only ever the same for the same sandbox and port. */
  protected override doPublicUrl(handle: SandboxHandle, port: number, options?: CallOptions): Promise<string> {
    return this.#faults.run('publicUrl', options, () => {
      const { name } = this.sandbox(handle);
      return `https://sandbox.test/${encodeURIComponent(name)}/${port}/`;
    });
  }

  protected override doCreateCheckpoint(handle: SandboxHandle, options?: CallOptions): Promise<Checkpoint> {
    return this.#faults.run('createCheckpoint', options, () => ({ id: this.sandbox(handle).checkpoint() }));
  }

  /** Ends what runs, and puts the files back. @throws {SandboxError} `not_found`: no checkpoint of this sandbox */
  protected override doRestoreCheckpoint(handle: SandboxHandle, id: string, options: CallOptions): Promise<void> {
    const restore = () => untilAborted(options.signal, 'unknown', this.sandbox(handle).restore(id));
    return this.#faults.run('restoreCheckpoint', options, restore);
  }

  protected override doHostPath(handle: SandboxHandle, path: string, options: CallOptions): Promise<string> {
    return this.#faults.run('hostPath', options, () => {
      this.sandbox(handle);
      return path;
    });
  }

  /** Milliseconds of a deadline that are left when there are answers again. @throws {SandboxError} `timeout`, `aborted` */
  async #timeLeft({ timeoutMs, signal }: ExecRequest): Promise<number | undefined> {
    if (timeoutMs === undefined) return undefined;
    const { clock } = this.#machine;
    const deadlineMs = clock.now() + timeoutMs;
    let cancel = (): void => {};
    const late = new Promise<never>((_, reject) => {
      cancel = clock.after(timeoutMs, () => reject(timedOut(timeoutMs, false)));
    });
    try {
      await untilAborted(signal, 'unknown', Promise.race([this.#faults.stalled, late]));
    } finally {
      cancel();
    }
    return Math.max(1, deadlineMs - clock.now());
  }

  #command({ handle, session, from, stdin, ...more }: CommandInit): StreamingCommand {
    const { stream = new CommandStream(), sink = stream, operation = 'spawn' } = more;
    const arriving = this.sink(sink);
    const reader = session.output.attach(stream === sink ? this.#faults.held(arriving) : arriving, from);
    return new StreamingCommand({
      provider: this.provider,
      operation,
      handle,
      sessionId: session.id,
      stream,
      channel: this.channel(new FakeChannel(session, reader, stdin, this.#faults)),
      stdin,
      tty: session.tty,
    });
  }
}

interface CommandInit {
  readonly handle: SandboxHandle;
  readonly session: ScriptedSession;
  readonly from: StreamOffsets | 'now';
  readonly stdin: boolean;
  /** @default one of its own */
  readonly stream?: CommandStream;
  /** What writes to `stream`. @default it, directly */
  readonly sink?: SessionSink;
  readonly operation?: 'spawn' | 'attach';
}
