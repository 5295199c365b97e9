import { stdinNotOpen } from './journal-errors.js';

/** Who may write to the stdin of a session: the newest that asked to, as far as this process knows. */
export class StdinOwners {
  readonly #owners = new Map<string, { isOusted: boolean }>();

  /** @returns `check`, which throws once another took over, and `release` */
  take(session: string): { readonly check: () => void; readonly release: () => void } {
    const owner = { isOusted: false };
    const before = this.#owners.get(session);
    if (before) before.isOusted = true;
    this.#owners.set(session, owner);
    return {
      // Not after a release: that its command has ended is answered by its output.
      check: () => {
        if (owner.isOusted) throw stdinNotOpen('a newer attach owns the stdin of this session');
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
