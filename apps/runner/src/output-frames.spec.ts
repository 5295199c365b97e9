import { describe, expect, test } from '@jest/globals';
import type { JournalRecord } from '#libs/process';
import { outputFrames } from './output-frames.js';

const record = (type: 'stdout' | 'stderr', offset: number, text: string): JournalRecord => ({
  type,
  offset,
  data: Buffer.from(text),
});
const END: JournalRecord = { type: 'end', end: { exit: { exitCode: 0 } } };

function frames(records: JournalRecord[]): string[] {
  return [...outputFrames(records, 4)].map(
    ({ type, offset, data }) => `${type} ${offset} ${Buffer.from(data).toString()}`,
  );
}

describe('outputFrames', () => {
  test.each<[string, JournalRecord[], string[]]>([
    ['nothing', [], []],
    ['an end only', [END], []],
    ['neighbours become one', [record('stdout', 0, 'a'), record('stdout', 1, 'bc'), END], ['stdout 0 abc']],
    [
      'up to the size of a frame',
      [record('stdout', 5, 'ab'), record('stdout', 7, 'cd'), record('stdout', 9, 'e')],
      ['stdout 5 abcd', 'stdout 9 e'],
    ],
    [
      'a record that does not fit begins the next',
      [record('stdout', 0, 'abc'), record('stdout', 3, 'de')],
      ['stdout 0 abc', 'stdout 3 de'],
    ],
    [
      'streams stay apart, in order',
      [record('stdout', 0, 'a'), record('stderr', 0, 'b'), record('stdout', 1, 'c')],
      ['stdout 0 a', 'stderr 0 b', 'stdout 1 c'],
    ],
    [
      'a large record becomes several',
      [record('stdout', 0, 'x'), record('stdout', 1, 'abcdefghi'), record('stdout', 10, 'y')],
      ['stdout 0 x', 'stdout 1 abcd', 'stdout 5 efgh', 'stdout 9 i', 'stdout 10 y'],
    ],
  ])('%s', (_title, records, expected) => {
    expect(frames(records)).toEqual(expected);
  });
});
