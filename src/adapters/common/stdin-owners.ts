import { stdinNotOpen } from './journal-errors.js';

/** Who may write to the stdin of a session: the newest that asked to, as far as this process knows. */
export class StdinOwners {
  readonly #owners = new Map<string, object>();

  /** @returns `check`, which throws once another took over, and `release` */
  take(session: string): { readonly check: () => void; readonly release: () => void } {
    const owner = {};
    this.#owners.set(session, owner);
    return {
      check: () => {
        if (this.#owners.get(session) !== owner) throw stdinNotOpen('a newer attach owns the stdin of this session');
      },
      release: () => {
        if (this.#owners.get(session) === owner) this.#owners.delete(session);
      },
    };
  }

  get size(): number {
    return this.#owners.size;
  }
}
