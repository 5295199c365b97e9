import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { describe as described } from './describe.js';

test('a date is told as one, also when it comes from another realm', () => {
  expect(described(new Date(0))).toBe('1970-01-01T00:00:00.000Z');
  expect(described(runInNewContext('new Date(0)'))).toBe('1970-01-01T00:00:00.000Z');
});
