import { describe, expect, test } from '@jest/globals';
import { RECONNECT_LIMITS, Reconnect } from './reconnect.js';

class StillClock {
  time = 0;
  now = () => this.time;
  after = () => () => {};
}

/** A generator with a fixed seed, so that a fleet is the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function peakShare(timesMs: readonly number[]): number {
  const seconds = new Map<number, number>();
  for (const time of timesMs) {
    const second = Math.floor(time / 1000);
    seconds.set(second, (seconds.get(second) ?? 0) + 1);
  }
  return Math.max(...seconds.values()) / timesMs.length;
}

describe('Reconnect', () => {
  test('draws the first delay from 0 to 15 s and every later one from 15 to 30 s', () => {
    const lowest = new Reconnect(new StillClock(), () => 1 - 2 ** -32);
    const highest = new Reconnect(new StillClock(), () => 0);
    expect([1, 2, 3, 4].map(() => lowest.nextDelayMs())).toEqual([0, 15_000, 15_000, 15_000]);
    expect([1, 2, 3, 4].map(() => highest.nextDelayMs())).toEqual([15_000, 30_000, 30_000, 30_000]);
  });

  test.each([
    ['dropped at once', 0, 30_000],
    ['dropped after 59.9 s', 59_900, 30_000],
    ['stable for 60 s', 60_000, 15_000],
  ])('after a link that was %s the next bound is right', (_title, upMs, bound) => {
    const clock = new StillClock();
    const policy = new Reconnect(clock, () => 0);
    policy.nextDelayMs();
    policy.opened();
    clock.time += upMs;
    expect(policy.nextDelayMs()).toBe(bound);
  });

  test('counts a stable link once only', () => {
    const clock = new StillClock();
    const policy = new Reconnect(clock, () => 0);
    policy.opened();
    clock.time += 60_000;
    expect([policy.nextDelayMs(), policy.nextDelayMs(), policy.nextDelayMs()]).toEqual([15_000, 30_000, 30_000]);
  });

  test('spreads the first redials of 2 000 daemons: no second has more than 10 % of them', () => {
    const random = seeded(1);
    const policies = Array.from({ length: 2_000 }, () => new Reconnect(new StillClock(), random));
    const first = policies.map((policy) => policy.nextDelayMs());
    expect(peakShare(first)).toBeLessThanOrEqual(0.1);
    expect(Math.max(...first)).toBeLessThanOrEqual(RECONNECT_LIMITS.baseMs);
  });

  test('spreads the second redials too, and all have dialled twice within 45 s', () => {
    const random = seeded(2);
    const second = Array.from({ length: 2_000 }, () => {
      const policy = new Reconnect(new StillClock(), random);
      return policy.nextDelayMs() + policy.nextDelayMs();
    });
    expect(peakShare(second)).toBeLessThanOrEqual(0.1);
    expect(Math.max(...second)).toBeLessThanOrEqual(45_000);
  });

  test('a platform that accepts and drops is dialled less than once in 15 s', () => {
    const clock = new StillClock();
    const policy = new Reconnect(clock, seeded(3));
    let dials = 0;
    while (clock.time < 600_000) {
      policy.opened();
      clock.time += policy.nextDelayMs();
      dials++;
    }
    expect(dials).toBeLessThanOrEqual(41);
  });
});
