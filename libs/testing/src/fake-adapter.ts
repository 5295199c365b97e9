import {
  CommandStream,
  SandboxAdapter,
  SandboxError,
  StreamingCommand,
  collectBytes,
  collectExec,
  invalidArgument,
  sandboxHandle,
  type AttachRequest,
  type CallOptions,
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
  type SpawnRequest,
  type StreamOffsets,
  type TerminateRequest,
  type WriteFileRequest,
} from '#libs/contract';
import type { SessionSink } from '#libs/protocol';
import { ExecSink } from './exec-sink.js';
import { FakeChannel } from './fake-channel.js';
import { offline, sessionLost, sourceFailed } from './fake-errors.js';
import { FakeMachine, type FakeMachineOptions } from './fake-machine.js';
import type { FakeSandbox } from './fake-sandbox.js';
import { Faults, type FaultOptions, type FaultyOperation } from './faults.js';
import type { ScriptedSession } from './scripted-session.js';
import { untilAborted } from './until-aborted.js';

/** What a {@link FakeAdapter} can do unless it is made less capable. */
export const FAKE_CAPABILITIES: ReadonlySet<SandboxCapability> = new Set<SandboxCapability>([
  'suspend',
  'network_policy',
  'attach',
  'public_url',
  'terminate_session',
  'create_new',
  'files',
]);

/** What a {@link FakeAdapter} is and can do. */
export interface FakeAdapterOptions extends FakeMachineOptions {
  /** The provider's tag, unless a module binds another. @default 'fake' */
  readonly tag?: string;
  /** A subset of {@link FAKE_CAPABILITIES}; what is left out is `not_supported`. @default all of them */
  readonly capabilities?: Iterable<SandboxCapability>;
}

/**
 * A provider in memory, for tests without a network: a real adapter whose commands are running things that emit
 * frames. What they do is in their words, one instruction each, carried out in order:
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
 * Commands that are ended from outside, by a stop, a suspend or a destroy, die of TERM: exit 143, signal `SIGTERM`.
 */
export class FakeAdapter extends SandboxAdapter {
  override readonly capabilities: ReadonlySet<SandboxCapability>;
  /** What a suspend does to running commands. */
  readonly onSuspend: 'stop' | 'freeze';
  readonly #machine: FakeMachine;
  readonly #faults = new Faults();

  /** @throws {SandboxError} `invalid` / `argument`: a capability that the fake does not have */
  constructor({ tag = 'fake', capabilities = FAKE_CAPABILITIES, ...machine }: FakeAdapterOptions = {}) {
    super(tag);
    this.capabilities = new Set(capabilities);
    for (const one of this.capabilities) {
      if (!FAKE_CAPABILITIES.has(one)) throw invalidArgument(`capabilities: the fake has no ${one}`);
    }
    this.#machine = new FakeMachine(machine);
    this.onSuspend = this.#machine.onSuspend;
  }

  /** The policy that was applied last, if the sandbox exists and has one. */
  policy(name: string): NetworkPolicy | undefined {
    return this.#machine.find(name)?.policy;
  }

  /** A copy of a file's content, if it exists. Relative paths begin in the home directory. */
  file(name: string, path: string): Buffer | undefined {
    return this.#machine.find(name)?.files.peek(path);
  }

  /** The next calls of `operation` reject with `error`; several faults of one operation are met in their order. */
  failNext(operation: FaultyOperation, error: SandboxError, options?: FaultOptions): void {
    this.#faults.add(operation, error, options);
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

  protected override doCapabilitiesOf(): ReadonlySet<SandboxCapability> {
    if (this.#faults.offline) throw offline();
    return this.capabilities;
  }

  protected override doCreate(name: string): Promise<SandboxHandle> {
    return this.#faults.run('create', () => {
      this.#machine.create(name);
      return sandboxHandle(this.provider, name);
    });
  }

  protected override doCreateNew(name: string, _options: CreateOptions): Promise<SandboxHandle> {
    return this.#faults.run('createNew', () => {
      if (this.#machine.find(name)) throw new SandboxError('already_exists', { message: `'${name}' exists already` });
      return sandboxHandle(this.provider, name, this.#machine.create(name).instanceId);
    });
  }

  protected override doGet(handle: SandboxHandle): Promise<SandboxInfo> {
    return this.#faults.run('get', () => {
      const { name, instanceId, status } = this.#sandbox(handle);
      return { status, raw: { name, instanceId, status } };
    });
  }

  protected override doDestroy({ name, instanceId }: SandboxHandle): Promise<void> {
    return this.#faults.run('destroy', () => this.#machine.destroy(name, instanceId));
  }

  protected override doListAllNames(): Promise<string[]> {
    return this.#faults.run('listAllNames', () => this.#machine.names);
  }

  protected override doSuspend(handle: SandboxHandle): Promise<void> {
    return this.#faults.run('suspend', () => this.#sandbox(handle).suspend());
  }

  protected override doResume(handle: SandboxHandle): Promise<SandboxHandle> {
    return this.#faults.run('resume', () => {
      this.#sandbox(handle).resume();
      return sandboxHandle(this.provider, handle.name, handle.instanceId);
    });
  }

  protected override doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
    const { path, content, mode, signal } = request;
    return this.#faults.run('writeFile', async () => {
      this.#sandbox(handle);
      const data = await untilAborted(signal, collectBytes(content, this.#machine.limits.fileBytes)).catch(
        (error: unknown) => Promise.reject(error instanceof SandboxError ? error : sourceFailed(error)),
      );
      // It may have gone while its content came in.
      const sandbox = this.#sandbox(handle);
      sandbox.files.write(path, data, mode);
      sandbox.resume();
    });
  }

  protected override doReadFile(handle: SandboxHandle, path: string): Promise<Uint8Array> {
    return this.#faults.run('readFile', () => this.#sandbox(handle).files.read(path));
  }

  protected override doListFiles(handle: SandboxHandle, path: string): Promise<FileEntry[]> {
    return this.#faults.run('listFiles', () => this.#sandbox(handle).files.list(path));
  }

  protected override doStatFile(handle: SandboxHandle, path: string): Promise<FileStat> {
    return this.#faults.run('statFile', () => this.#sandbox(handle).files.stat(path));
  }

  protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
    const { cmd, args, dir, timeoutMs, maxOutputBytes, stderrToStdout, stdin, signal } = request;
    return this.#faults.run('exec', () => {
      // The deadline is the machine's: its clock may stand still.
      const command = { cmd, args, dir, stdin: stdin !== undefined, detachable: false, timeoutMs };
      const session = this.#sandbox(handle).exec(command);
      const stream = new CommandStream();
      return collectExec(
        this.#command(handle, session, stream, new ExecSink(stream, timeoutMs), 'now', command.stdin),
        {
          maxOutputBytes,
          stderrToStdout,
          ...(stdin !== undefined && { stdin }),
          ...(signal !== undefined && { signal }),
          stop: async () => {
            session.kill('SIGTERM');
            return { confirmed: !isLost(session) };
          },
        },
      );
    });
  }

  protected override doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
    const { cmd, args, dir, stdin, detachable } = request;
    const spawn = (): SandboxCommand => {
      const session = this.#sandbox(handle).spawn({ cmd, args, dir, stdin, detachable });
      const stream = new CommandStream();
      return this.#command(handle, session, stream, stream, 'now', stdin);
    };
    return this.#faults.run('spawn', spawn, (command) => command.stop());
  }

  protected override doListSessions(handle: SandboxHandle): Promise<SandboxSession[]> {
    return this.#faults.run('listSessions', () => {
      const sandbox = this.#sandbox(handle);
      return sandbox.running().map(({ id, command, createdAtMs, lastActivityAtMs }) => ({
        id,
        command,
        createdAt: sandbox.date(createdAtMs),
        lastActivityAt: sandbox.date(lastActivityAtMs),
        tty: false,
      }));
    });
  }

  protected override doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
    const { sessionId, from, stdin } = request;
    const attach = (): SandboxCommand => {
      const stream = new CommandStream();
      const session = this.#sandbox(handle).session(sessionId);
      return this.#command(handle, session, stream, stream, from, stdin, 'attach');
    };
    return this.#faults.run('attach', attach, (command) => command.stop());
  }

  protected override doTerminateSession(handle: SandboxHandle, request: TerminateRequest): Promise<void> {
    const { sessionId, mode } = request;
    return this.#faults.run('terminateSession', () => {
      const session = this.#sandbox(handle).findSession(sessionId);
      if (session === undefined) return;
      session.kill(mode === 'force' ? 'SIGKILL' : 'SIGTERM');
      if (isLost(session)) throw sessionLost();
    });
  }

  protected override doApplyNetworkPolicy(handle: SandboxHandle, { allow }: NetworkPolicy): Promise<void> {
    return this.#faults.run('applyNetworkPolicy', () => {
      this.#sandbox(handle).policy = Object.freeze({ allow: Object.freeze([...allow]) });
    });
  }

  /** Nothing listens there: it is only ever the same for the same sandbox and port. */
  protected override doPublicUrl(handle: SandboxHandle, port: number): Promise<string> {
    return this.#faults.run('publicUrl', () => {
      const { name } = this.#sandbox(handle);
      return `https://sandbox.test/${encodeURIComponent(name)}/${port}/`;
    });
  }

  protected override doHostPath(handle: SandboxHandle, path: string, _options: CallOptions): Promise<string> {
    return this.#faults.run('hostPath', () => {
      this.#sandbox(handle);
      return path;
    });
  }

  #sandbox({ name, instanceId }: SandboxHandle): FakeSandbox {
    return this.#machine.get(name, instanceId);
  }

  #command(
    handle: SandboxHandle,
    session: ScriptedSession,
    stream: CommandStream,
    sink: SessionSink,
    from: StreamOffsets | 'now',
    stdin: boolean,
    operation: 'spawn' | 'attach' = 'spawn',
  ): StreamingCommand {
    const reader = session.attach(this.sink(sink), from);
    return new StreamingCommand({
      provider: this.provider,
      operation,
      handle,
      sessionId: session.id,
      stream,
      channel: new FakeChannel(session, reader, stdin),
      stdin,
      tty: false,
    });
  }
}

function isLost({ end }: ScriptedSession): boolean {
  return end !== undefined && 'lost' in end;
}
