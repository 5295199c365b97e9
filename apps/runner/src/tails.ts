import type { SessionKeeper, SessionTail } from '#libs/process';

type Listener = (tail: SessionTail) => void;

/** Hands the keeper's announcements to whoever follows the session that they are about. */
export class Tails {
  private readonly listeners = new Map<string, Set<Listener>>();
  private readonly unsubscribe: () => void;

  constructor(keeper: Pick<SessionKeeper, 'onTail'>) {
    this.unsubscribe = keeper.onTail((tail) => {
      for (const listener of this.listeners.get(sessionKey(tail.sandbox, tail.id)) ?? []) listener(tail);
    });
  }

  /**
   * Calls `listener` for every announcement from here on; the returned function ends that. What was announced before
   * is in the keeper's `journal`: ask for it after this call, and take the {@link later} of both.
   */
  follow(sandbox: string, id: string, listener: Listener): () => void {
    const key = sessionKey(sandbox, id);
    const listeners = this.listeners.get(key) ?? new Set();
    this.listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.listeners.get(key) === listeners) this.listeners.delete(key);
    };
  }

  /** How many sessions are followed. */
  get size(): number {
    return this.listeners.size;
  }

  close(): void {
    this.unsubscribe();
    this.listeners.clear();
  }
}

/** The newer of two views of one session. */
export function later(one: SessionTail | undefined, other: SessionTail): SessionTail {
  if (one === undefined) return other;
  if (one.position !== other.position) return one.position > other.position ? one : other;
  return one.ended ? one : other;
}

/** Names and ids hold no NUL, so no two sessions share a key. */
export function sessionKey(sandbox: string, id: string): string {
  return `${sandbox}\0${id}`;
}
