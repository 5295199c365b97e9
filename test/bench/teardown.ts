import { Cleanup } from '../../apps/platform/src/cleanup.js';

/** What a benchmark has to undo. Whoever asks for it waits for all of it, also for what is entered while it goes on. */
export class Teardown {
  readonly #cleanup = new Cleanup((message) => void process.stderr.write(`${message}\n`));
  #running: Promise<void> | undefined;

  defer(what: string, undo: () => Promise<unknown>): void {
    this.#cleanup.defer(what, undo);
    if (this.#running) this.#continue();
  }

  /** Never rejects. */
  async run(): Promise<void> {
    let seen: Promise<void> | undefined;
    for (this.#continue(); seen !== this.#running; await seen) seen = this.#running;
  }

  #continue(): void {
    this.#running = (this.#running ?? Promise.resolve()).then(() => this.#cleanup[Symbol.asyncDispose]());
  }
}
