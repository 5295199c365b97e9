import { settles } from './until.js';

/** Frames as they come in, to be taken in their order by whoever waits for one. */
export class Inbox<T> {
  readonly all: T[] = [];
  readonly #untaken: T[] = [];
  #wake: (() => void)[] = [];

  put(item: T): void {
    this.all.push(item);
    this.#untaken.push(item);
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** Takes the first that passes `test`, out of those that came and those to come. */
  take(what: string, test: (item: T) => boolean = () => true, withinMs = 20_000): Promise<T> {
    return settles(what, this.#take(test), withinMs);
  }

  async #take(test: (item: T) => boolean): Promise<T> {
    for (;;) {
      const index = this.#untaken.findIndex((item) => test(item));
      if (index >= 0) return this.#untaken.splice(index, 1)[0] as T;
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }
}
