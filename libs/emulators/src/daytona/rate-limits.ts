import { apiFailure } from './api-failure.js';
import type { DaytonaSettings, Throttle, Throttler } from './options.js';

const TIER_1: Readonly<Record<Throttler, Throttle>> = {
  authenticated: { count: 10_000, windowMs: 60_000 },
  'sandbox-create': { count: 300, windowMs: 60_000 },
  'sandbox-lifecycle': { count: 10_000, windowMs: 60_000 },
};

/** One counter per throttler, for all routes of it together. */
export class RateLimits {
  readonly #calls = new Map<Throttler, number[]>();

  constructor(private readonly settings: Pick<DaytonaSettings, 'limits' | 'alternatives'>) {}

  /** Counts a call. @returns the headers of its answer @throws {ApiFailure} 429 */
  take(throttlers: readonly Throttler[]): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const throttler of throttlers) {
      const { count, windowMs } = this.settings.limits[throttler] ?? TIER_1[throttler];
      const now = performance.now();
      const recent = (this.#calls.get(throttler) ?? []).filter((at) => now - at < windowMs);
      this.#calls.set(throttler, recent);
      const resetSeconds = String(Math.ceil((windowMs - (now - (recent[0] ?? now))) / 1000));
      const full = recent.length >= count;
      if (!full) recent.push(now);
      headers[`x-ratelimit-limit-${throttler}`] = String(count);
      headers[`x-ratelimit-remaining-${throttler}`] = String(count - recent.length);
      headers[`x-ratelimit-reset-${throttler}`] = resetSeconds;
      if (!full) continue;
      const name = this.settings.alternatives.retryAfter === 'named' ? `retry-after-${throttler}` : 'retry-after';
      throw apiFailure(429, 'Too Many Requests', { ...headers, [name]: resetSeconds });
    }
    return headers;
  }
}
