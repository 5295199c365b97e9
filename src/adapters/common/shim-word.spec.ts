import { expect, test } from '@jest/globals';
import { checkFirstWord } from './shim-word.js';

test.each([
  [['r', '12', '0'], { pid: '12', startCode: 0 }],
  [['r', '12', '127'], { pid: '12', startCode: 127 }],
])('%j says that a command runs', (words, started) => {
  expect(checkFirstWord(words)).toEqual(started);
});

test.each([
  [['d'], 'no_such_directory'],
  [['j'], 'journal_failed'],
  [['r'], 'malformed_frame'],
  [['r', '12'], 'malformed_frame'],
  [['r', 'abc', '0'], 'malformed_frame'],
  [['r', '12', '-1'], 'malformed_frame'],
  [['x', '0', '0'], 'malformed_frame'],
  [[], 'malformed_frame'],
])('%j says that none does', (words, detail) => {
  expect(() => checkFirstWord(words)).toThrow(expect.objectContaining({ detail }));
});
