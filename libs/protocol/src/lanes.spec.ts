import { describe, expect, test } from '@jest/globals';
import { turns, ManualClock } from '#libs/testing';
import { IdMemory } from './id-memory.js';
import { Lane } from './lanes.js';
import { Offences } from './offences.js';

describe('a lane', () => {
  test('starts one task when the one before has ended, also when that failed', async () => {
    const events: string[] = [];
    const lane = new Lane(() => events.push('idle'));
    const ends: (() => void)[] = [];
    const fails: ((error: Error) => void)[] = [];
    const task = (name: string) => (): Promise<string> =>
      new Promise((resolve, reject) => {
        events.push(name);
        ends.push(() => resolve(name));
        fails.push(reject);
      });
    const [a, b, c] = ['a', 'b', 'c'].map((name) => lane.add(task(name))) as [
      ReturnType<typeof lane.add<string>>,
      ReturnType<typeof lane.add<string>>,
      ReturnType<typeof lane.add<string>>,
    ];
    expect([events, a.started, b.started, lane.idle]).toEqual([['a'], true, false, false]);
    fails[0]?.(new Error('no'));
    await expect(a.result).rejects.toThrow('no');
    await turns();
    expect(events).toEqual(['a', 'b']);
    b.resolve('early');
    expect(await b.result).toBe('early');
    await turns();
    expect(events).toEqual(['a', 'b']);
    c.reject(new Error('left'));
    await expect(c.result).rejects.toThrow('left');
    ends[1]?.();
    await turns();
    expect([events, lane.idle]).toEqual([['a', 'b', 'idle'], true]);
  });
});

describe('a memory of ids', () => {
  test('keeps the last ones, each counted from when it was last remembered', () => {
    const memory = new IdMemory<number, string>(3);
    for (const id of [1, 2, 3]) memory.remember(id, `n${id}`);
    memory.remember(1, 'again');
    memory.remember(4, 'n4');
    expect([1, 2, 3, 4].map((id) => [memory.has(id), memory.recall(id)])).toEqual([
      [true, 'again'],
      [false, undefined],
      [true, 'n3'],
      [true, 'n4'],
    ]);
    memory.forget(3);
    expect(memory.size).toBe(2);
  });
});

describe('offences', () => {
  test('count within any window, not within fixed ones', () => {
    const clock = new ManualClock();
    const offences = new Offences(clock, 4, 10);
    const answers: boolean[] = [];
    for (const ms of [0, 9, 1, 1, 1, 20, 0]) {
      clock.advance(ms);
      answers.push(offences.add());
    }
    // At 0, 9, 10, 11, 12, 32, 32: the first is out of the window at 11.
    expect(answers).toEqual([false, false, false, false, true, false, false]);
    expect(offences.count).toBe(2);
  });
});
