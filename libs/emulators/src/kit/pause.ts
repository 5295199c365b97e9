import { setTimeout as delay } from 'node:timers/promises';

/** Longer timers of Node fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Waits; rejects when `closing` is aborted. `Infinity` waits for just that. */
export async function pause(ms: number, closing: AbortSignal): Promise<void> {
  if (ms > 0) await delay(Math.min(ms, LONGEST_TIMER_MS), undefined, { signal: closing });
  else closing.throwIfAborted();
}
