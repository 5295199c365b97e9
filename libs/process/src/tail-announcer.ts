import type { SessionTail } from './keeper.js';

export interface Tailed {
  readonly tail: SessionTail;
}

/** Announces how far journals have grown, at most once per session and turn of the event loop. */
export class TailAnnouncer {
  readonly #grown = new Set<Tailed>();
  readonly #callbacks = new Set<(tail: SessionTail) => void>();
  #scheduled = false;

  constructor(private readonly log: (message: string) => void) {}

  on(callback: (tail: SessionTail) => void): () => void {
    // A wrapper of its own, so that the same function can be added, and removed, twice.
    const own = (tail: SessionTail) => callback(tail);
    this.#callbacks.add(own);
    return () => this.#callbacks.delete(own);
  }

  grew(session: Tailed): void {
    this.#grown.add(session);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  /** Announces at once what waits for the end of the turn. */
  flush(): void {
    const grown = [...this.#grown];
    this.#grown.clear();
    for (const session of grown) {
      const { tail } = session;
      for (const callback of this.#callbacks) {
        try {
          callback(tail);
        } catch (error) {
          this.log(`a tail listener threw ${error instanceof Error ? error.name : typeof error}`);
        }
      }
    }
  }
}
