/** Timers of a machine that can be frozen: what was left of them is left when it goes on. */
export class FreezableTimers {
  readonly #entries = new Set<{ leftMs: number; readonly action: () => void }>();
  readonly #running = new Map<{ leftMs: number; readonly action: () => void }, [NodeJS.Timeout, number]>();
  #frozen = false;

  /** @returns what calls it off */
  after(ms: number, action: () => void): () => void {
    const entry = { leftMs: ms, action };
    this.#entries.add(entry);
    if (!this.#frozen) this.#run(entry);
    return () => this.#forget(entry);
  }

  freeze(): void {
    this.#frozen = true;
    for (const [entry, [timer, since]] of this.#running) {
      clearTimeout(timer);
      entry.leftMs = Math.max(0, entry.leftMs - (performance.now() - since));
    }
    this.#running.clear();
  }

  thaw(): void {
    if (!this.#frozen) return;
    this.#frozen = false;
    for (const entry of this.#entries) this.#run(entry);
  }

  /** None of those that were begun fires from here on. */
  clear(): void {
    for (const entry of this.#entries) this.#forget(entry);
  }

  #run(entry: { leftMs: number; readonly action: () => void }): void {
    // Longer timers of Node fire at once.
    const timer = setTimeout(
      () => {
        this.#forget(entry);
        entry.action();
      },
      Math.min(entry.leftMs, 2 ** 31 - 1),
    );
    this.#running.set(entry, [timer, performance.now()]);
  }

  #forget(entry: { leftMs: number; readonly action: () => void }): void {
    clearTimeout(this.#running.get(entry)?.[0]);
    this.#running.delete(entry);
    this.#entries.delete(entry);
  }
}
