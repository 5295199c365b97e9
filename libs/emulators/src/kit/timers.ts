/** Timers that end with their owner. */
export class Timers {
  readonly #timers = new Set<NodeJS.Timeout>();
  #closed = false;

  /** @returns what calls it off */
  after(ms: number, action: () => void): () => void {
    if (this.#closed || ms === Infinity) return () => {};
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, ms);
    this.#timers.add(timer);
    return () => {
      clearTimeout(timer);
      this.#timers.delete(timer);
    };
  }

  /** None fires from here on. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
