import { expect, test } from '@jest/globals';
import { ManualClock } from '#libs/testing';
import { Reconnect } from '../../apps/runner/src/reconnect.js';

/** How often a daemon dials within ten minutes a platform that ends each link `upMs` after it accepted it. */
function dialsInTenMinutes(upMs: number, random: () => number): number {
  const clock = new ManualClock();
  const reconnect = new Reconnect(clock, random);
  let dials = 0;
  while (clock.now() < 600_000) {
    dials += 1;
    reconnect.opened();
    clock.advance(upMs);
    clock.advance(reconnect.nextDelayMs());
  }
  return dials;
}

test('bug 13: when a platform that was up for an hour restarts, no second has more than a tenth of its daemons', () => {
  const fleet = 2_000;
  const perSecond = new Map<number, number>();
  for (let i = 0; i < fleet; i += 1) {
    const clock = new ManualClock();
    // Evenly spread draws: what is tested is the window, not the generator.
    const reconnect = new Reconnect(clock, () => (i + 0.5) / fleet);
    reconnect.opened();
    clock.advance(3_600_000);
    const second = Math.floor(reconnect.nextDelayMs() / 1_000);
    perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
  }
  expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(fleet / 10);
});

test.each([0, 2_000, 59_000])('bug 14: a platform that accepts and drops after %i ms is not hammered', (upMs) => {
  expect(dialsInTenMinutes(upMs, () => 0)).toBeLessThanOrEqual(600_000 / (30_000 + upMs) + 2);
  expect(dialsInTenMinutes(upMs, () => 0.999)).toBeLessThanOrEqual(600_000 / (15_000 + upMs) + 2);
});

test('bug 45: no number of lost links uses anything up, however silent the sessions are', () => {
  const clock = new ManualClock();
  const reconnect = new Reconnect(clock, () => 0.5);
  const delays = new Set<number>();
  for (let cut = 0; cut < 10_000; cut += 1) {
    reconnect.opened();
    clock.advance(60_000);
    delays.add(reconnect.nextDelayMs());
  }
  expect([...delays]).toEqual([7_500]);
});
