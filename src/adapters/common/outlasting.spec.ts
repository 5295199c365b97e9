import { expect, test } from '@jest/globals';
import { Deadline } from './deadline.js';
import { outlasting } from './outlasting.js';

/** Timers that run in this process. */
const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

const never = (later: Deadline): Promise<never> => later.race(new Promise<never>(() => {}), 'unknown');

test('work goes on when its deadline has ended, until it is done or has had its time', async () => {
  const before = timers();
  const controller = new AbortController();
  const deadline = new Deadline(60_000, controller.signal);
  let finish: (result: string) => void = () => {};
  const work = outlasting(deadline, 60_000, () => new Promise<string>((resolve) => (finish = resolve)));
  const late = outlasting(deadline, 20, never);
  controller.abort('why');
  await expect(deadline.race(work, 'unknown')).rejects.toMatchObject({ code: 'aborted', cause: 'why' });
  await expect(late).rejects.toMatchObject({ effect: 'unknown' });
  finish('done');
  expect(await work).toBe('done');
  deadline[Symbol.dispose]();
  expect(timers()).toBe(before);
});

test('work has the time of its deadline and that beyond it, and none once that is over', async () => {
  using deadline = new Deadline(10);
  await expect(outlasting(deadline, 20, never)).rejects.toMatchObject({ code: 'unavailable', effect: 'unknown' });
  let isBegun = false;
  const begin = (): Promise<void> => Promise.resolve(void (isBegun = true));
  await expect(outlasting(deadline, 20, begin)).rejects.toMatchObject({ code: 'unavailable', effect: 'none' });
  expect(isBegun).toBe(false);
});
