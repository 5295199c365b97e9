import type { KeeperLimits } from './limits.js';
import type { Session } from './session.js';

/** The space that the journals of one sandbox may take together. */
export class JournalRoom {
  #bytes = 0;

  constructor(
    private readonly limits: Pick<KeeperLimits, 'journalBytes' | 'sandboxJournalBytes'>,
    /** The sandbox's sessions, oldest first. */
    private readonly sessions: () => Iterable<Session>,
    /** Drops an ended session and gives its bytes back by `add`. */
    private readonly drop: (session: Session) => void,
  ) {}

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Evicts what may go until both caps hold. Pauses the session where nothing may, else lets it go on. */
  makeFor(session: Session): void {
    if (this.#sessionFits(session) && this.#sandboxFits(session)) session.resume();
    else session.pause();
  }

  /** To be called when something may go that had to stay. */
  retry(): void {
    for (const session of this.sessions()) if (session.paused) this.makeFor(session);
  }

  #sessionFits(session: Session): boolean {
    while (session.kept > this.limits.journalBytes) if (!this.#evict(session)) return false;
    return true;
  }

  #sandboxFits(session: Session): boolean {
    while (this.#bytes > this.limits.sandboxJournalBytes) {
      if (!this.#dropOldestUnread() && !this.#evict(session) && !this.#evictAny()) return false;
    }
    return true;
  }

  #dropOldestUnread(): boolean {
    for (const session of this.sessions()) {
      if (session.ended && session.unread) {
        this.drop(session);
        return true;
      }
    }
    return false;
  }

  #evictAny(): boolean {
    for (const session of this.sessions()) if (this.#evict(session)) return true;
    return false;
  }

  #evict(session: Session): boolean {
    const freed = session.evictOldest();
    this.#bytes -= freed;
    return freed > 0;
  }
}
