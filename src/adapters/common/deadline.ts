import { MAX_TIMEOUT_MS, SandboxError, abortedError, type SandboxEffect } from '#libs/contract';

/** The time of one whole operation, however many requests it takes, and the caller's signal. Dispose it. */
export class Deadline implements Disposable {
  readonly #expiresAtMs: number;
  readonly #timeoutMs: number;
  readonly #caller: AbortSignal | undefined;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #abort = (): void => this.#controller.abort();

  /** @param timeoutMs from now, on a clock that never jumps */
  constructor(timeoutMs: number, caller?: AbortSignal) {
    this.#timeoutMs = timeoutMs;
    this.#expiresAtMs = performance.now() + timeoutMs;
    this.#caller = caller;
    this.#timer = setTimeout(this.#abort, Math.min(timeoutMs, MAX_TIMEOUT_MS));
    if (caller?.aborted) this.#abort();
    else caller?.addEventListener('abort', this.#abort);
  }

  /** Fires when the time is up or the caller aborts. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get leftMs(): number {
    return Math.max(0, this.#expiresAtMs - performance.now());
  }

  /** What a call that it ended rejects with. */
  error(effect: SandboxEffect): SandboxError {
    if (this.#caller?.aborted) return abortedError(this.#caller, effect);
    return new SandboxError('unavailable', { effect, message: `no answer within ${this.#timeoutMs} ms` });
  }

  /** @throws {SandboxError} its error with effect `none`, when it is over */
  check(): void {
    if (this.signal.aborted) throw this.error('none');
  }

  /** `promise`, unless the deadline ends first. What becomes of it then is the caller's to see to. */
  async race<T>(promise: PromiseLike<T>, effect: SandboxEffect): Promise<T> {
    let over = (): void => {};
    const ended = new Promise<never>((_, reject) => {
      over = () => reject(this.error(effect));
      if (this.signal.aborted) over();
      else this.signal.addEventListener('abort', over);
    });
    try {
      return await Promise.race([promise, ended]);
    } finally {
      this.signal.removeEventListener('abort', over);
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#abort);
  }
}

/** `work` with a deadline of its own, which is disposed of once it has settled. */
export async function withinDeadline<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: (deadline: Deadline) => PromiseLike<T>,
): Promise<T> {
  const deadline = new Deadline(timeoutMs, signal);
  try {
    return await work(deadline);
  } finally {
    deadline[Symbol.dispose]();
  }
}
