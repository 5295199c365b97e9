import { setTimeout as delay } from 'node:timers/promises';
import { abortedError } from './aborted.js';
import { MAX_TIMEOUT_MS, checkInteger, checkSignal, invalidArgument } from './checks.js';
import { SandboxError, type SandboxErrorCode } from './sandbox-error.js';

/** How `withBackoff` tries again. */
export interface BackoffOptions {
  /** Calls in all, the first included. @default 3 */
  readonly attempts?: number;
  /** The first step in milliseconds; each further one is twice as long. @default 250 */
  readonly baseMs?: number;
  /** The longest step in milliseconds; a provider's `retryAfterMs` may exceed it. @default 2000 */
  readonly maxMs?: number;
  /** Milliseconds from the start in which an attempt may begin. @default none */
  readonly deadlineMs?: number;
  /** Names the work in the error of an abort. */
  readonly label?: string;
  /**
   * Decides in place of the built-in rule whether an error is worth another attempt. Needed for a second attempt at
   * something that may have happened already.
   */
  readonly retriable?: (error: unknown) => boolean;
  /** Ends the waiting, and keeps further attempts from beginning; the work itself has to look for it on its own. */
  readonly signal?: AbortSignal;
}

export const BACKOFF_DEFAULTS = { attempts: 3, baseMs: 250, maxMs: 2000 } as const;

/** Time and chance, so that tests own both. */
export interface BackoffEnvironment {
  /** Milliseconds on a clock that never jumps. */
  now(): number;
  /** From 0 up to 1. */
  random(): number;
  /** Rejects when the signal fires. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

export const systemEnvironment: BackoffEnvironment = {
  now: () => performance.now(),
  random: () => Math.random(),
  sleep: (ms, signal) => delay(Math.min(ms, MAX_TIMEOUT_MS), undefined, signal && { signal }),
};

const PERMANENT: ReadonlySet<SandboxErrorCode> = new Set([
  'not_found',
  'truncated',
  'not_supported',
  'already_exists',
  'denied',
  'invalid',
  'restore_failed',
  'aborted',
]);

/** Operations that do harm when they happen twice. */
const NOT_IDEMPOTENT: ReadonlySet<string | undefined> = new Set([
  'createNew',
  'exec',
  'spawn',
  'writeStdin',
  'terminateSession',
  'createCheckpoint',
  'restoreCheckpoint',
]);

export function isTransient(error: unknown): boolean {
  return !(error instanceof SandboxError && PERMANENT.has(error.code));
}

export async function retryLoop<T>(
  environment: BackoffEnvironment,
  work: () => T | PromiseLike<T>,
  options: BackoffOptions,
): Promise<T> {
  const { attempts, baseMs, maxMs, deadlineMs, label = 'the work', retriable = isRetriable, signal } = checked(options);
  const startedAt = environment.now();
  let failure: unknown;
  for (let attempt = 1; ; attempt += 1) {
    if (signal?.aborted) throw abortedAfter(failure, signal, label);
    try {
      return await work();
    } catch (error) {
      failure = error;
    }
    if (attempt >= attempts || !retriable(failure)) throw failure;
    const waitMs = waitBefore(failure, Math.min(maxMs, baseMs * 2 ** (attempt - 1)), environment.random());
    if (environment.now() - startedAt + waitMs > deadlineMs) throw failure;
    try {
      await environment.sleep(waitMs, signal);
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }
}

function isRetriable(error: unknown): boolean {
  if (error instanceof SandboxError && NOT_IDEMPOTENT.has(error.operation) && error.effect !== 'none') return false;
  return isTransient(error);
}

/** Between half and the whole of the step, but not before the provider asked to be tried again. */
function waitBefore(error: unknown, stepMs: number, random: number): number {
  const jittered = stepMs / 2 + (random * stepMs) / 2;
  const retryAfterMs = error instanceof SandboxError ? error.retryAfterMs : undefined;
  return retryAfterMs !== undefined && retryAfterMs > jittered ? retryAfterMs : jittered;
}

/** What the last attempt did to the other side still holds after the abort. */
function abortedAfter(failure: unknown, signal: AbortSignal, label: string): SandboxError {
  const effect = failure === undefined ? 'none' : failure instanceof SandboxError ? failure.effect : 'unknown';
  return abortedError(signal, effect, label);
}

function checked(options: BackoffOptions) {
  const { deadlineMs = Infinity, retriable, signal, label } = options;
  const { attempts, baseMs, maxMs } = { ...BACKOFF_DEFAULTS, ...options };
  checkInteger('attempts', attempts, 1, Number.MAX_SAFE_INTEGER);
  for (const [name, value] of Object.entries({ baseMs, maxMs, deadlineMs })) {
    if (typeof value !== 'number' || !(value >= 0)) throw invalidArgument(`${name}: expected milliseconds ≥ 0`);
  }
  return { attempts, baseMs, maxMs, deadlineMs, retriable, label, signal: checkSignal(signal) };
}
