import { setTimeout as delay } from 'node:timers/promises';
import { abortedError } from './aborted.js';
import type { BackoffOptions } from './backoff-options.js';
import { MAX_TIMEOUT_MS, checkInteger, checkSignal, invalidArgument } from './checks.js';
import { isTransient } from './is-transient.js';
import type { SandboxEffect } from './error-codes.js';
import { SandboxError } from './sandbox-error.js';

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
  sleep: (ms, signal) => delay(Math.min(ms, MAX_TIMEOUT_MS), undefined, { signal }),
};

const DEFAULTS = { attempts: 3, baseMs: 250, maxMs: 2000 } as const;

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

export async function retryLoop<T>(
  environment: BackoffEnvironment,
  work: () => T | PromiseLike<T>,
  options: BackoffOptions,
): Promise<T> {
  const { attempts, baseMs, maxMs, deadlineMs, label, retriable, signal } = checked(work, options);
  const startedAt = environment.now();
  let effect: SandboxEffect = 'none';
  for (let attempt = 1; ; attempt += 1) {
    if (signal?.aborted) throw abortedError(signal, effect, label);
    let failure: unknown;
    try {
      return await work();
    } catch (error) {
      failure = error;
    }
    if (attempt >= attempts || !retriable(failure)) throw failure;
    const waitMs = waitBefore(failure, Math.min(maxMs, baseMs * 2 ** (attempt - 1)), environment.random());
    if (environment.now() - startedAt + waitMs > deadlineMs) throw failure;
    effect = strongest(effect, failure instanceof SandboxError ? failure.effect : 'unknown');
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

/** What any attempt may have done still holds when a later one is aborted. */
function strongest(a: SandboxEffect, b: SandboxEffect): SandboxEffect {
  if (a === 'done' || b === 'done') return 'done';
  return a === 'unknown' || b === 'unknown' ? 'unknown' : 'none';
}

function checked(work: unknown, options: BackoffOptions) {
  const { attempts = DEFAULTS.attempts, baseMs = DEFAULTS.baseMs, maxMs = DEFAULTS.maxMs } = options;
  const { deadlineMs = Infinity, label = 'the work', retriable = isRetriable } = options;
  if (typeof work !== 'function') throw invalidArgument('work: expected a function');
  checkInteger('attempts', attempts, 1, Number.MAX_SAFE_INTEGER);
  for (const [name, value] of Object.entries({ baseMs, maxMs, deadlineMs })) {
    if (typeof value !== 'number' || !(value >= 0)) throw invalidArgument(`${name}: expected milliseconds ≥ 0`);
  }
  return { attempts, baseMs, maxMs, deadlineMs, label, retriable, signal: checkSignal(options.signal) };
}
