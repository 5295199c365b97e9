import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The user asked to stop. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
  constructor(readonly by: NodeJS.Signals) {
    super(`interrupted by ${by}`);
  }

  /** 128+n, as a shell reports it. */
  get exitCode(): number {
    return 128 + constants.signals[this.by];
  }
}

/**
 * Catches the signals that ask a program to end, until disposed of: the first is remembered, later ones are ignored,
 * since the terminal and a parent may both send it.
 */
export class Interruption implements Disposable {
  readonly #controller = new AbortController();
  readonly #listener = (signal: NodeJS.Signals): void => this.#controller.abort(new InterruptedError(signal));

  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#listener);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Resolves with the interruption. */
  readonly happened = new Promise<InterruptedError>((resolve) => {
    this.signal.addEventListener('abort', () => resolve(this.signal.reason as InterruptedError), { once: true });
  });

  /** What `promise` gives, unless the interruption comes first; its own rejection is then of no interest. */
  async unless<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => {});
    return Promise.race([promise, this.happened.then((error) => Promise.reject(error))]);
  }

  [Symbol.dispose](): void {
    for (const signal of SIGNALS) process.off(signal, this.#listener);
  }
}
