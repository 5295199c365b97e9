import { describe, expect, test } from '@jest/globals';
import { planFaults } from './faults.js';
import { readOptions } from './options.js';
import { storyOf } from './story.js';

describe('the options', () => {
  test('have defaults, and a seed of their own where none is given', () => {
    const { seed, ...rest } = readOptions([]);
    expect(rest).toEqual({ seconds: 60, daemons: 4, sessions: 200, json: false, help: false });
    expect(Number.isInteger(seed)).toBe(true);
  });

  test.each([
    [['--seed', '-1'], /--seed/],
    [['--seed', 'x'], '--seed: expected a whole number from 0 to 2147483647, not "x"'],
    [['--seconds', '1'], '--seconds: expected a whole number from 5 to 3600, not "1"'],
    [['--daemons', '0'], '--daemons: expected a whole number from 1 to 50, not "0"'],
    [['--sessions', '1.5'], '--sessions: expected a whole number from 1 to 2000, not "1.5"'],
    [['--fast'], /--fast/],
    [['three'], /three/],
  ])('%j is refused', (argv, message) => {
    expect(() => readOptions(argv)).toThrow(message);
  });
});

describe('a plan', () => {
  test('follows from the seed', () => {
    expect(planFaults(5, 3, 30)).toEqual(planFaults(5, 3, 30));
    expect(planFaults(5, 3, 30)).not.toEqual(planFaults(6, 3, 30));
    const source = { seed: 5, daemons: 3, longestSeconds: 4 };
    expect(storyOf(source, 17)).toEqual(storyOf(source, 17));
    expect(storyOf(source, 17)).not.toEqual(storyOf({ ...source, seed: 6 }, 17));
  });

  test('is in the order of time and ends a platform at least once', () => {
    const plan = planFaults(5, 3, 30);
    expect(plan.map(({ at }) => at)).toEqual(plan.map(({ at }) => at).toSorted((a, b) => a - b));
    expect(plan.filter(({ daemon }) => daemon === undefined).length).toBeGreaterThan(0);
  });
});
