import { describe, expect, test } from '@jest/globals';
import { retryAfterMs, secondsToMs } from './retry-after.js';

const NOW = Date.UTC(2026, 10, 8, 8, 0, 0);

describe('Retry-After', () => {
  test.each([
    ['7', 7_000],
    ['0', 0],
    ['1.5', 1_500],
    [' 12 ', 12_000],
    ['Sun, 08 Nov 2026 08:00:30 GMT', 30_000],
    ['Sun, 08 Nov 2026 07:00:00 GMT', 0],
    ['99999999999', 31_536_000_000],
  ])('%p asks to wait %p ms', (header, ms) => {
    expect(retryAfterMs(header, NOW)).toBe(ms);
  });

  test.each([null, undefined, '', 'soon', '-5', 'NaN', 'Sun, never'])('%p asks for nothing', (header) => {
    expect(retryAfterMs(header, NOW)).toBeUndefined();
  });

  test.each([
    [3, 3_000],
    [0.2, 200],
    [-1, undefined],
    ['3', undefined],
    [Number.NaN, undefined],
  ])('of the number %p is %p ms', (seconds, ms) => {
    expect(secondsToMs(seconds)).toBe(ms);
  });
});
