import { expect, test } from '@jest/globals';
import type { StreamStep } from './fault.js';
import { Steps } from './steps.js';

/** Steps which count how many elements the arrays have that are made of them. */
class Counted extends Array<StreamStep> {
  static elements = 0;

  constructor(length: number) {
    super(length);
    Counted.elements += length;
  }
}

test('many steps that have to be waited for are carried out in order, and not copied', async () => {
  const pieces = new Counted(1_000);
  for (let at = 0; at < 1_000; at += 1) pieces[at] = { data: Buffer.from(String(at)), binary: true };
  Counted.elements = 0;
  const done: string[] = [];
  const perform = async (step: StreamStep): Promise<void> => {
    if ('data' in step) done.push(step.data.toString());
  };
  const steps = new Steps(() => pieces, perform, new AbortController().signal);
  await steps.take({ data: Buffer.alloc(0), binary: true });
  expect(done).toEqual(Array.from({ length: 1_000 }, (_, at) => String(at)));
  expect(Counted.elements).toBe(0);
});
