import { describe, expect, test } from '@jest/globals';
import type { E2bControl } from './e2b.control.js';
import { E2bResidents } from './e2b.residents.js';

/** Looks at sandboxes are answered when the test says so. */
function residents() {
  const looks: ((state: string) => void)[] = [];
  const control = {
    options: { ttlSeconds: 4, timeoutMs: 30_000 },
    find: () => new Promise((resolve) => looks.push((state) => resolve({ state, leftMs: 1e9 }))),
  };
  return { made: new E2bResidents(control as unknown as E2bControl), looks };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function until(probe: () => boolean): Promise<void> {
  while (!probe()) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function isReady(ready: Promise<boolean>): Promise<boolean> {
  await turn();
  return Promise.race([ready.then(() => true), turn().then(() => false)]);
}

describe('a sandbox that is about to be paused', () => {
  test('is not taken for one that was woken because it still ran when it was looked at', async () => {
    const { made, looks } = residents();
    const release = made.hold('i1', 0);
    await until(() => looks.length === 1);
    await made.park('i1');
    const ready = made.ready('i1');
    looks[0]?.('running');
    expect(await isReady(ready)).toBe(false);
    await until(() => looks.length === 2);
    looks[1]?.('running');
    expect(await isReady(ready)).toBe(false);
    made.parked('i1');
    made.unpark('i1');
    expect(await ready).toBe(true);
    release();
    expect(made.size).toBe(0);
  });
});
