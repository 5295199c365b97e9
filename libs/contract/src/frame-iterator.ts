import type { CommandStream, FrameReader } from './command-stream.js';
import type { SandboxFrame } from './frames.js';

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

/** The output frame by frame, the exit last. A frame is taken when it is handed out; `return` detaches. */
export class FrameIterator implements AsyncIterator<SandboxFrame, undefined> {
  readonly #reader: FrameReader | undefined;
  readonly #stop: () => Promise<void>;
  #refusal: unknown;
  #done = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(stream: CommandStream, stop: () => Promise<void>) {
    this.#stop = stop;
    try {
      this.#reader = stream.claim();
    } catch (error) {
      this.#refusal = error;
    }
  }

  /** Calls that were not awaited are answered in their order. */
  next(): Promise<IteratorResult<SandboxFrame, undefined>> {
    const result = this.#turn.then(() => this.#take());
    this.#turn = result.catch(() => {});
    return result;
  }

  /** At once, also while `next` waits: that one is then done. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#done) {
      this.#done = true;
      if (this.#reader) await this.#stop();
    }
    return DONE;
  }

  async #take(): Promise<IteratorResult<SandboxFrame, undefined>> {
    if (this.#done) return DONE;
    if (!this.#reader) {
      this.#done = true;
      throw this.#refusal;
    }
    const item = await this.#reader.next();
    if (this.#done) return DONE;
    if (item.type === 'error') {
      this.#done = true;
      throw item.error;
    }
    if (item.type === 'exit') this.#done = true;
    else this.#reader.taken(item);
    return { done: false, value: item };
  }
}
