import { noSuchSandbox } from './errors.js';

/**
 * One per sandbox: any number of starts and file writes at once, or one change of the sandbox itself, in the order of
 * the calls. While a destroy is under way or waits, what is shared is refused.
 */
export class SandboxLock {
  readonly #shared = new Set<Promise<unknown>>();
  #exclusive: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #destroying = 0;

  /** @throws {SandboxError} `not_found` while the sandbox is being destroyed */
  async shared<T>(work: () => Promise<T>): Promise<T> {
    while (this.#waiting > 0) {
      if (this.#destroying > 0) throw noSuchSandbox();
      await this.#exclusive;
    }
    const running = work();
    const settled = running.catch(() => {});
    this.#shared.add(settled);
    try {
      return await running;
    } finally {
      this.#shared.delete(settled);
    }
  }

  async exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    const before = this.#exclusive;
    const running = (async () => {
      await before;
      await Promise.all(this.#shared);
      try {
        return await work();
      } finally {
        this.#waiting -= 1;
      }
    })();
    this.#exclusive = running.catch(() => {});
    return await running;
  }

  async destroying<T>(work: () => Promise<T>): Promise<T> {
    this.#destroying += 1;
    return await this.exclusive(work).finally(() => (this.#destroying -= 1));
  }
}
