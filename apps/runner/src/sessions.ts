import type { SessionKeeper } from '#libs/process';
import type { Clock } from '#libs/protocol';
import type { Log } from './log.js';
import { sessionKey } from './tails.js';

interface Session {
  readonly sandbox: string;
  readonly id: string;
  readonly detachable: boolean;
  /** Set while its stop is due because nobody reads it; called to cancel that. */
  cancel?: () => void;
}

export interface SessionsOptions {
  readonly keeper: Pick<SessionKeeper, 'stop' | 'onTail'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds after a lost link until a session that nobody attached to again is stopped. */
  readonly orphanMs: number;
  /** Milliseconds between TERM and KILL. */
  readonly stopGraceMs: number;
}

/**
 * The running sessions that were spawned. One that is not detachable must not outlive its readers. Lives as long as
 * the daemon: a platform may come back over another socket.
 */
export class Sessions {
  private readonly running = new Map<string, Session>();
  private readonly unsubscribe: () => void;

  constructor(private readonly options: SessionsOptions) {
    this.unsubscribe = options.keeper.onTail(({ sandbox, id, ended }) => {
      if (ended) this.remove(sessionKey(sandbox, id));
    });
  }

  get size(): number {
    return this.running.size;
  }

  /** One was started. `linked`: the link over which it was asked for still stands. */
  add(session: { sandbox: string; id: string; detachable: boolean }, linked: boolean): void {
    const { sandbox, id } = session;
    this.running.set(sessionKey(sandbox, id), { ...session });
    if (!linked) this.linkLost();
  }

  /** Somebody reads it. */
  attached(sandbox: string, id: string): void {
    const session = this.running.get(sessionKey(sandbox, id));
    session?.cancel?.();
    delete session?.cancel;
  }

  /** Its readers have left for good. */
  detached(sandbox: string, id: string): void {
    const session = this.running.get(sessionKey(sandbox, id));
    if (session && !session.detachable) this.stop(session);
  }

  /** Whoever read something reads it no longer, and may come back. */
  linkLost(): void {
    const { clock, orphanMs } = this.options;
    for (const session of this.running.values()) {
      if (!session.detachable) session.cancel ??= clock.after(orphanMs, () => this.stop(session));
    }
  }

  /** The sandbox of a session, for requests that do not name it. */
  sandboxOf(id: string): string | undefined {
    for (const session of this.running.values()) if (session.id === id) return session.sandbox;
    return undefined;
  }

  /** Kills all of them at once. Resolves when that was done or has failed. */
  async killAll(): Promise<void> {
    const { keeper } = this.options;
    await Promise.allSettled(
      [...this.running.values()].map(({ sandbox, id }) => keeper.stop(sandbox, id, { signal: 'SIGKILL', graceMs: 0 })),
    );
  }

  close(): void {
    this.unsubscribe();
    for (const key of this.running.keys()) this.remove(key);
  }

  private stop({ sandbox, id }: Session): void {
    this.remove(sessionKey(sandbox, id));
    void this.stopped(sandbox, id);
  }

  private async stopped(sandbox: string, id: string): Promise<void> {
    const { keeper, log, stopGraceMs } = this.options;
    const gone = await keeper.stop(sandbox, id, { graceMs: stopGraceMs }).then(
      (result) => result.gone,
      () => false,
    );
    if (!gone) log.warn('a session without readers could not be stopped', { sandbox, session: id });
  }

  private remove(key: string): void {
    this.running.get(key)?.cancel?.();
    this.running.delete(key);
  }
}
