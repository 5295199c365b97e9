import { removeTree } from '#libs/process';
import type { EmulatedProcess } from '../kit/emulated-process.js';
import { DaemonFailure } from './daemon-failure.js';
import type { Machine } from './machine.js';
import { endTree } from './running.js';
import { SessionCommand } from './session-command.js';
import { sessionScript } from './session-script.js';
import { environmentOf } from './shell.js';

/** One shell that runs one command after the other. */
export class Session {
  readonly #commands = new Map<string, SessionCommand>();
  readonly #gone = new AbortController();

  private constructor(
    readonly id: string,
    private readonly shell: EmulatedProcess,
    private readonly machine: Machine,
    /** On this machine. */
    private readonly directory: string,
  ) {}

  /** @throws {DaemonFailure} 500 */
  static async start(machine: Machine, id: string): Promise<Session> {
    const { files, shell } = machine;
    const started = await machine.run(
      { cmd: shell, args: [], directory: files.home, env: environmentOf(machine), stdin: true },
      // What the shell itself prints goes nowhere.
      { output: () => {}, ended: () => {} },
    );
    if ('failed' in started)
      throw new DaemonFailure(500, started.failed.startError ?? 'the shell could not be started');
    const name = id.replaceAll(/[^\w-]/g, (char) => `%${char.codePointAt(0)!.toString(16)}`);
    return new Session(id, started, machine, `${files.home}/.daytona/sessions/${name}`);
  }

  /** Aborted when it was deleted. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get pid(): number {
    return this.shell.pid;
  }

  /** Whether its shell has ended, so that no command will. */
  get ended(): boolean {
    return this.shell.exit !== undefined;
  }

  /** In an order that says nothing. */
  get commands(): readonly SessionCommand[] {
    return [...this.#commands.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  find(id: string): SessionCommand | undefined {
    return this.#commands.get(id);
  }

  /** Queues a command behind those that were there before. @throws {DaemonFailure} 400 when the shell has ended */
  exec(text: string, how: { readonly runAsync: boolean; readonly suppressInputEcho: boolean }): SessionCommand {
    if (this.ended) throw new DaemonFailure(400, 'failed to write command: write |1: broken pipe', 'SESSION_ENDED');
    const { alternatives } = this.machine.settings;
    const command = new SessionCommand(text, how.suppressInputEcho, this.directory, alternatives.exitCode);
    this.#commands.set(command.id, command);
    void this.shell.write(Buffer.from(sessionScript(command.files, how.runAsync)));
    return command;
  }

  /** Ends its processes and removes its files. */
  async delete(): Promise<void> {
    const { settings, closing } = this.machine;
    await endTree(this.shell.pid, settings.sessionGraceMs, closing);
    this.#gone.abort(new SessionGone());
    await removeTree(this.directory);
  }
}

/** Why a call that waited for a command got nothing: its session was deleted meanwhile. */
class SessionGone extends DaemonFailure {
  constructor() {
    super(404, 'session not found');
  }
}
