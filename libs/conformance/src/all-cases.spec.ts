import { describe, expect, test } from '@jest/globals';
import { ALL_CASES } from './all-cases.js';
import { PROMISES } from './promises.js';

describe('the cases of the suite', () => {
  test('have ids of one form, each once', () => {
    const ids = ALL_CASES.map(({ id }) => id);
    expect(ids.filter((id) => !/^[A-Z]{3}-\d{3}$/.test(id))).toEqual([]);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  });

  test('have titles that say each something else', () => {
    const titles = ALL_CASES.map(({ title }) => title);
    expect(titles.filter((title, i) => titles.indexOf(title) !== i)).toEqual([]);
    expect(titles.filter((title) => /^[A-Z]|\.$/.test(title))).toEqual([]);
  });

  test('hold every promise of the contract', () => {
    const held = new Set(ALL_CASES.map(({ promise }) => promise));
    expect(Object.keys(PROMISES).filter((id) => !held.has(id as keyof typeof PROMISES))).toEqual([]);
  });
});
