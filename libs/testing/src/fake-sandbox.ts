import type { NetworkPolicy } from '#libs/contract';
import type { Clock } from '#libs/protocol';
import { noDirectory, noSession } from './fake-errors.js';
import { FakeFiles } from './fake-files.js';
import type { FakeLimits } from './fake-limits.js';
import { ScriptedSession, type ScriptedSpec } from './scripted-session.js';

/** How a command is told to a fake sandbox. */
export interface FakeCommand extends Pick<ScriptedSpec, 'stdin' | 'detachable' | 'timeoutMs' | 'maxOutputBytes'> {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly dir?: string | undefined;
}

/** Gives the words that a command is played from. */
export type FakeScript = (cmd: string, args: readonly string[]) => readonly string[];

/** What the sandboxes of one machine share. */
export interface FakeMachineContext {
  readonly clock: Clock;
  /** Added to the clock for dates. */
  readonly epochMs: number;
  readonly limits: FakeLimits;
  readonly script: FakeScript;
  readonly onSuspend: 'stop' | 'freeze';
  readonly nextSessionId: () => string;
}

/** One sandbox in memory. */
export class FakeSandbox {
  readonly files: FakeFiles;
  status: 'running' | 'suspended' = 'running';
  policy: NetworkPolicy | undefined;
  readonly #context: FakeMachineContext;
  readonly #sessions = new Map<string, ScriptedSession>();
  readonly #execs = new Set<ScriptedSession>();

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
    const session = this.#start(command, () => this.#execs.delete(session));
    this.#execs.add(session);
    return session;
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

  suspend(): void {
    this.status = 'suspended';
    for (const session of this.#all()) {
      if (this.#context.onSuspend === 'stop') session.kill('SIGTERM');
      else session.freeze(true);
    }
  }

  resume(): void {
    this.status = 'running';
    for (const session of this.#all()) session.freeze(false);
  }

  /** Ends what runs, as the sandbox goes. */
  stopAll(): void {
    for (const session of this.#all()) session.kill('SIGTERM');
  }

  /** The transport to every reader breaks. What must not outlive its readers is stopped. */
  cut(): void {
    for (const session of this.#all()) {
      session.cut();
      if (!session.detachable) session.kill('SIGTERM');
    }
  }

  #start({ cmd, args, dir, ...spec }: FakeCommand, onEnd: () => void): ScriptedSession {
    if (dir !== undefined && !this.files.hasDirectory(dir)) throw noDirectory();
    this.resume();
    const { clock, limits, script, nextSessionId } = this.#context;
    const id = nextSessionId();
    const command = [cmd, ...args].join(' ');
    return new ScriptedSession({ ...spec, id, command, words: script(cmd, args), clock, limits }, onEnd);
  }

  #all(): ScriptedSession[] {
    return [...this.sessions, ...this.#execs];
  }

  #forgetOldest(): void {
    const finished = this.sessions.filter(({ end }) => end !== undefined);
    for (const { id } of finished.slice(0, -this.#context.limits.finishedSessions)) this.#sessions.delete(id);
  }
}
