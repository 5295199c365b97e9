import { SandboxError } from '#libs/contract/core';
import { KEEPER_LIMITS, type SessionKeeper, type StartedSession } from '#libs/process';
import type { Log } from './log.js';

interface Running {
  readonly requestId: number;
  readonly sandbox: string;
  readonly started: Promise<StartedSession>;
}

/** The execs of one socket that have not been answered, for whoever ends them early. */
export class Execs {
  private readonly running = new Set<Running>();

  constructor(
    private readonly keeper: SessionKeeper,
    private readonly log: Log,
  ) {}

  /** The returned function is to be called when the command is over. */
  add(requestId: number, sandbox: string, started: Promise<StartedSession>): () => void {
    const command = { requestId, sandbox, started };
    this.running.add(command);
    return () => this.running.delete(command);
  }

  /**
   * Stops the command of a request: TERM, 2 s, KILL. Its exec is answered as its processes end; one that is over, or
   * never was, needs nothing.
   *
   * @throws {SandboxError} `unavailable`, effect `unknown`: something of it may still run
   */
  async cancel(requestId: number): Promise<void> {
    for (const command of this.running) {
      if (command.requestId !== requestId) continue;
      if (await this.stop(command, { graceMs: KEEPER_LIMITS.limitGraceMs })) return;
      throw new SandboxError('unavailable', { effect: 'unknown', message: 'the command could not be stopped' });
    }
  }

  /** Nobody can take an answer any more. */
  killAll(): void {
    for (const command of this.running) void this.kill(command);
  }

  private async kill(command: Running): Promise<void> {
    const gone = await this.stop(command, { signal: 'SIGKILL', graceMs: 0 });
    if (!gone) this.log.warn('a command could not be killed', { sandbox: command.sandbox });
  }

  /** Whether nothing of it is left. Never rejects. */
  private async stop(
    { sandbox, started }: Running,
    how: { signal?: NodeJS.Signals; graceMs: number },
  ): Promise<boolean> {
    const session = await started.catch(() => undefined);
    if (session === undefined) return true;
    try {
      return (await this.keeper.stop(sandbox, session.id, how)).gone;
    } catch (error) {
      return error instanceof SandboxError && error.code === 'not_found';
    }
  }
}
