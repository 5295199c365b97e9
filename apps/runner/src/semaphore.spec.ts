import { describe, expect, test } from '@jest/globals';
import { Semaphore } from './semaphore.js';

describe('Semaphore', () => {
  test('lets as many in as it has permits, the rest in order', async () => {
    const semaphore = new Semaphore(2);
    const entered: number[] = [];
    const releases: (() => void)[] = [];
    const all = [0, 1, 2, 3].map(async (n) => {
      const release = await semaphore.acquire();
      entered.push(n);
      releases.push(release);
    });
    await Promise.all(all.slice(0, 2));
    expect(entered).toEqual([0, 1]);
    releases[1]?.();
    await all[2];
    expect(entered).toEqual([0, 1, 2]);
    releases[0]?.();
    await all[3];
    expect(entered).toEqual([0, 1, 2, 3]);
  });

  test('a permit is given back once', async () => {
    const semaphore = new Semaphore(1);
    const release = await semaphore.acquire();
    release();
    release();
    const second = await semaphore.acquire();
    let third = false;
    const waiting = semaphore.acquire().then(() => (third = true));
    await new Promise(setImmediate);
    expect(third).toBe(false);
    second();
    await waiting;
    expect(third).toBe(true);
  });
});
