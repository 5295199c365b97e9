/** A year: nobody means more. */
const LONGEST_MS = 31_536_000_000;

/**
 * Milliseconds that a `Retry-After` header asks to wait: it holds seconds or an HTTP date. `undefined`: neither.
 *
 * @param nowMs the time by the wall clock, which the date is meant by
 */
export function retryAfterMs(header: string | null | undefined, nowMs: number = Date.now()): number | undefined {
  const text = header?.trim();
  if (!text) return undefined;
  if (/^\d+(?:\.\d+)?$/.test(text)) return secondsToMs(Number(text));
  // Date.parse takes almost anything with a number in it.
  if (!/^[A-Za-z]{3,9},? /.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - nowMs), LONGEST_MS);
}

/** Milliseconds out of a number of seconds; `undefined` when it is none. */
export function secondsToMs(seconds: unknown): number | undefined {
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds < 0) return undefined;
  return Math.min(Math.ceil(seconds * 1000), LONGEST_MS);
}
