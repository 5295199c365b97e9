import { SANDBOX_ERROR_CODES, SANDBOX_ERROR_DETAILS } from '#libs/contract/core';
import { describe, expect, test } from '@jest/globals';
import { unusedCodes } from './codes.js';
import { example, repositoryFiles, sources } from './files.js';
import { wordFaults } from './words.js';

describe('words', () => {
  const files = repositoryFiles();

  test('no file names a workplace or a download server', () => {
    expect(wordFaults(files)).toEqual([]);
  });

  test('every error detail is used by a source', () => {
    expect(unusedCodes(sources(files), SANDBOX_ERROR_DETAILS, 'libs/contract/src/details.ts')).toEqual([]);
  });

  test('every error code is used by a source', () => {
    expect(unusedCodes(sources(files), SANDBOX_ERROR_CODES, 'libs/contract/src/sandbox-error.ts')).toEqual([]);
  });

  test('a forbidden word is found with its line, in any case', () => {
    const word = ['See Design', '.md'].join('');
    expect(wordFaults(example({ 'docs/a.md': `fine\n${word}, please` }))).toEqual([
      `docs/a.md:2 says ${['design', '.md'].join('')}`,
    ]);
  });

  test('a code that nothing but its declaration and a comment names is found', () => {
    const small = example({ 'codes.ts': "['a', 'b', 'c']", 'x.ts': "f('a'); // 'c'\nconst y = { b: 404 };" });
    expect(unusedCodes(small, ['a', 'b', 'c'], 'codes.ts')).toEqual(['c']);
  });
});
