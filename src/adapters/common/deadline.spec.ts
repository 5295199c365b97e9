import { describe, expect, test } from '@jest/globals';
import { withinDeadline, type Deadline } from './deadline.js';

/** Timers that run in this process. */
const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

describe('work within a deadline', () => {
  test('gives what it gives, and leaves no timer and no listener', async () => {
    const { signal } = new AbortController();
    const before = timers();
    let seen: Deadline | undefined;
    const result = withinDeadline(60_000, signal, async (deadline) => {
      seen = deadline;
      return deadline.leftMs > 59_000;
    });
    expect(timers()).toBe(before + 1);
    expect(await result).toBe(true);
    expect(timers()).toBe(before);
    signal.dispatchEvent(new Event('abort'));
    expect(seen?.signal.aborted).toBe(false);
  });

  test('that fails, or throws at once, leaves none either', async () => {
    const before = timers();
    const failure = new Error('no');
    await expect(withinDeadline(60_000, undefined, () => Promise.reject(failure))).rejects.toBe(failure);
    const thrown = withinDeadline(60_000, undefined, () => {
      throw failure;
    });
    await expect(thrown).rejects.toBe(failure);
    expect(timers()).toBe(before);
  });

  test('hears of its caller, and of its end', async () => {
    const controller = new AbortController();
    const waiting = (signal: AbortSignal | undefined, ms: number) =>
      withinDeadline(ms, signal, (deadline) => deadline.race(new Promise<never>(() => {}), 'unknown'));
    const aborted = waiting(controller.signal, 60_000);
    controller.abort('why');
    await expect(aborted).rejects.toMatchObject({ code: 'aborted', effect: 'unknown', cause: 'why' });
    await expect(waiting(undefined, 10)).rejects.toMatchObject({ code: 'unavailable', effect: 'unknown' });
  });
});
