import type { EnvPair, NetworkPolicy, TerminalSize } from '#libs/contract';
import type { Clock } from '#libs/protocol';
import { fakeEnvironment } from './fake-environment.js';
import { noCheckpoint, noDirectory, noSession } from './fake-errors.js';
import { FakeFiles, absolute, type FilesSnapshot } from './fake-files.js';
import type { FakeLimits } from './fake-limits.js';
import { findProgram, type FakeCommands } from './find-program.js';
import { ProcessFiles } from './process-files.js';
import { STOP_GRACE_MS, ScriptedSession, type ScriptedSpec } from './scripted-session.js';

/** How a command is told to a fake sandbox. */
export interface FakeCommand extends Pick<ScriptedSpec, 'stdin' | 'detachable' | 'timeoutMs' | 'maxOutputBytes'> {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env?: readonly EnvPair[] | undefined;
  readonly dir?: string | undefined;
  /** @default no terminal */
  readonly tty?: TerminalSize | undefined;
  /** @default false */
  readonly stderrToStdout?: boolean | undefined;
}

/** What the sandboxes of one machine share. */
export interface FakeMachineContext {
  readonly clock: Clock;
  /** Added to the clock for dates. */
  readonly epochMs: number;
  readonly limits: FakeLimits;
  readonly commands: FakeCommands;
  readonly onSuspend: 'stop' | 'freeze';
  readonly nextSessionId: () => string;
  readonly nextCheckpointId: () => string;
}

/** One sandbox in memory. */
export class FakeSandbox {
  readonly files: FakeFiles;
  status: 'running' | 'suspended' = 'running';
  policy: NetworkPolicy | undefined;
  readonly #context: FakeMachineContext;
  /** All that can be joined. */
  readonly #sessions = new Map<string, ScriptedSession>();
  /** All of which something runs, execs and what is left in the background included. */
  readonly #live = new Set<ScriptedSession>();
  readonly #checkpoints = new Map<string, FilesSnapshot>();

  constructor(
    readonly name: string,
    readonly instanceId: string,
    context: FakeMachineContext,
  ) {
    this.#context = context;
    this.files = new FakeFiles(() => this.date(context.clock.now()));
  }

  date(atMs: number): Date {
    return new Date(this.#context.epochMs + atMs);
  }

  /** Starts a session that can be joined. Wakes the sandbox. @throws {SandboxError} `invalid` / `no_such_directory` */
  spawn(command: FakeCommand): ScriptedSession {
    const session = this.#start(command, () => this.#forgetOldest());
    this.#sessions.set(session.id, session);
    return session;
  }

  /** As `spawn`, for a command that nobody else can join and of which nothing is kept. */
  exec(command: FakeCommand): ScriptedSession {
    return this.#start(command);
  }

  /** @throws {SandboxError} `not_found` */
  session(id: string): ScriptedSession {
    const session = this.#sessions.get(id);
    if (session === undefined) throw noSession(id);
    return session;
  }

  findSession(id: string): ScriptedSession | undefined {
    return this.#sessions.get(id);
  }

  /** All that can be joined. */
  get sessions(): ScriptedSession[] {
    return [...this.#sessions.values()];
  }

  /** The running detachable ones, newest first. */
  running(): ScriptedSession[] {
    return this.sessions.filter((one) => one.detachable && one.end === undefined).toReversed();
  }

  /** Resolves when nothing runs any more, or stands still. */
  async suspend(): Promise<void> {
    this.status = 'suspended';
    if (this.#context.onSuspend === 'stop') return this.stopAll();
    for (const session of this.#live) session.freeze(true);
  }

  resume(): void {
    this.status = 'running';
    for (const session of this.#live) session.freeze(false);
  }

  /** Keeps the files as they are. @returns its id */
  checkpoint(): string {
    const id = this.#context.nextCheckpointId();
    this.#checkpoints.set(id, this.files.snapshot());
    return id;
  }

  /** Ends what runs, then puts the files back. @throws {SandboxError} `not_found` */
  async restore(id: string): Promise<void> {
    const snapshot = this.#checkpoints.get(id);
    if (snapshot === undefined) throw noCheckpoint();
    await this.stopAll();
    this.files.restore(snapshot);
    this.resume();
  }

  /** TERM, then KILL, to all that runs. */
  async stopAll(): Promise<void> {
    await Promise.all([...this.#live].map(async (session) => await session.stop(STOP_GRACE_MS)));
  }

  /** As `stopAll`, without a grace. */
  endAll(): void {
    for (const session of this.#live) for (const name of ['SIGTERM', 'SIGKILL'] as const) session.signal(name);
  }

  /** The transport to every reader breaks. What must not outlive its readers is stopped. */
  cut(): void {
    for (const session of new Set([...this.sessions, ...this.#live])) {
      session.output.cut();
      if (!session.detachable) void session.stop(STOP_GRACE_MS);
    }
  }

  #start(command: FakeCommand, onEnd?: () => void): ScriptedSession {
    const { cmd, dir = '.', env = [], tty: size, stderrToStdout = false } = command;
    if (!this.files.hasDirectory(dir)) throw noDirectory();
    this.resume();
    const { clock, limits, commands, nextSessionId } = this.#context;
    const cwd = absolute(dir);
    const files = new ProcessFiles(this.files, cwd);
    const session = new ScriptedSession(
      {
        ...command,
        ...findProgram(cmd, command.args, commands, files),
        id: nextSessionId(),
        command: [cmd, ...command.args].join(' '),
        env: fakeEnvironment(env, cwd, size !== undefined),
        dir: cwd,
        reaches: (host) => this.policy?.allow.includes(host) ?? true,
        files,
        size,
        stderrToStdout,
        clock,
        limits,
      },
      onEnd,
    );
    this.#live.add(session);
    void session.over.then(() => this.#live.delete(session));
    return session;
  }

  #forgetOldest(): void {
    const finished = this.sessions.filter(({ end }) => end !== undefined);
    for (const { id } of finished.slice(0, -this.#context.limits.finishedSessions)) this.#sessions.delete(id);
  }
}
