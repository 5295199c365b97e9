import {
  SANDBOX_ERROR_CODES,
  SANDBOX_ERROR_DETAILS,
  SANDBOX_ERROR_DETAIL_TRAITS,
  type SandboxErrorDetail,
} from '#libs/contract/core';
import { describe, expect, test } from '@jest/globals';
import { detailFaults, unusedCodes } from './codes.js';
import { example, repositoryFiles, sources } from './files.js';
import { wordFaults } from './words.js';

const CODES = 'libs/contract/src/error-codes.ts';
const DETAILS = 'libs/contract/src/details.ts';

describe('words', () => {
  const files = repositoryFiles();

  test('no file names a workplace or a download server', () => {
    expect(wordFaults(files)).toEqual([]);
  });

  test('every error detail is used by a source', () => {
    expect(unusedCodes(sources(files), SANDBOX_ERROR_DETAILS, [DETAILS])).toEqual([]);
  });

  test('every error code is used by a source', () => {
    expect(unusedCodes(sources(files), SANDBOX_ERROR_CODES, [CODES, DETAILS])).toEqual([]);
  });

  test('every error that is written out has a detail that its code can have', () => {
    const codesOf = (detail: string) => SANDBOX_ERROR_DETAIL_TRAITS[detail as SandboxErrorDetail]?.codes;
    expect(detailFaults(sources(files), codesOf)).toEqual([]);
  });

  test('a detail of another code is found', () => {
    const small = example({
      'a.ts': "\nnew SandboxError('a', { effect, detail: 'x' }); new SandboxError('b', { detail: 'x' });",
    });
    expect(detailFaults(small, () => ['a'])).toEqual(['a.ts:2 x is no case of b']);
  });

  test('a forbidden word is found with its line, in any case', () => {
    const word = ['See Design', '.md'].join('');
    expect(wordFaults(example({ 'docs/a.md': `fine\n${word}, please` }))).toEqual([
      `docs/a.md:2 says ${['design', '.md'].join('')}`,
    ]);
  });

  test('a code that nothing but its declaration and a comment names is found', () => {
    const small = example({ 'codes.ts': "['a', 'b', 'c']", 'x.ts': "f('a'); // 'c'\nconst y = { b: 404 };" });
    expect(unusedCodes(small, ['a', 'b', 'c'], ['codes.ts'])).toEqual(['c']);
  });
});
