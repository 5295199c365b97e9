import type { StreamRewrite, StreamStep } from './fault.js';
import { pause } from './pause.js';

/** Takes the steps of one stream in order, after a fault had its way with them. */
export class Steps {
  #index = 0;
  #last: Promise<void> | undefined;
  #ended = false;

  constructor(
    private readonly rewrite: StreamRewrite | undefined,
    /** Carries out a step that is no delay. */
    private readonly perform: (step: Exclude<StreamStep, { delayMs: number }>) => void | Promise<void>,
    private readonly closing: AbortSignal,
  ) {}

  /** At once where nothing stands in the way; otherwise the promise tells when the step is done. */
  take(step: StreamStep): void | Promise<void> {
    const isData = 'data' in step;
    const steps = this.rewrite ? this.rewrite(step, this.#index) : [step];
    if (isData) this.#index += 1;
    const done = this.#last === undefined ? this.#run(steps) : this.#last.then(async () => await this.#run(steps));
    if (done) {
      const forget = () => {
        if (this.#last === settled) this.#last = undefined;
      };
      const settled: Promise<void> = done.then(forget, forget);
      this.#last = settled;
    }
    return done;
  }

  #run(steps: readonly StreamStep[], from = 0): void | Promise<void> {
    for (let at = from; at < steps.length && !this.#ended; at += 1) {
      const done = this.#one(steps[at]!);
      if (done) return at + 1 < steps.length ? done.then(async () => await this.#run(steps, at + 1)) : done;
    }
    return undefined;
  }

  #one(step: StreamStep): void | Promise<void> {
    if ('delayMs' in step) return pause(step.delayMs, this.closing);
    if ('close' in step) this.#ended = true;
    return this.perform(step);
  }
}
