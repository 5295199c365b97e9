import type { BackoffOptions } from './backoff-options.js';
import { retryLoop, systemEnvironment } from './retry-loop.js';

/**
 * Calls `work` until it succeeds, an error is not worth another attempt, or the attempts or the time are used up; then
 * rejects with the last error as it is. Waits grow exponentially, each between half and the whole of its step; a
 * `retryAfterMs` of the error is waited for even beyond `maxMs`. What would pass the deadline is thrown at once.
 *
 * For idempotent work: unknown errors are retried. An error of `createNew`, `exec`, `spawn`, `writeStdin`,
 * `terminateSession` or a checkpoint that may have had an effect is thrown at once, unless `retriable` says otherwise.
 *
 * @throws {SandboxError} `aborted` once the signal fired, with the strongest effect of the attempts before; `invalid` /
 *   `argument`
 */
export function withBackoff<T>(work: () => T | PromiseLike<T>, options: BackoffOptions = {}): Promise<T> {
  return retryLoop(systemEnvironment, work, options);
}
