import { describe, expect, test } from '@jest/globals';
import type { SandboxError } from '#libs/contract';
import { JournalParser, recordedExit, type JournalRecord } from './journal-parser.js';

const parse = (data: Uint8Array, size: number): JournalRecord[] => {
  const records: JournalRecord[] = [];
  const parser = new JournalParser((record) => records.push(record));
  for (let at = 0; at < data.byteLength; at += size) parser.push(data.subarray(at, at + size));
  return records;
};

describe('the records of the shim', () => {
  const data = Buffer.from('@r 12 0\n@o 0 5\n@x\n\0\xff@e 7 1\n\n@x 0 5 8 -\n', 'latin1');

  test.each([1, 2, 3, 7, 1000])('are read however they are cut (%p bytes)', (size) => {
    const records = parse(data, size);
    const bytes = (stream: string) =>
      Buffer.concat(records.flatMap((r) => (r.type === 'output' && r.stream === stream ? [r.data] : [])));
    expect(bytes('stdout')).toEqual(Buffer.from('@x\n\0\xff', 'latin1'));
    expect(bytes('stderr')).toEqual(Buffer.from('\n'));
    expect(records.filter(({ type }) => type === 'piece')).toHaveLength(2);
    expect(records.flatMap((r) => (r.type === 'word' ? [[r.word, ...r.values]] : []))).toEqual([
      ['r', '12', '0'],
      ['x', '0', '5', '8', '-'],
    ]);
    const offsets = records.flatMap((r) => (r.type === 'output' && r.stream === 'stderr' ? [r.offset] : []));
    expect(offsets).toEqual([7]);
  });

  test.each(['x\n', '@\n', '@ro\n', '@o 1\n', '@o 0 0\n', '@o -1 4\n', '@o 0 9007199254740993\n', 'y'.repeat(300)])(
    '%p is none',
    (text) => {
      let thrown: unknown;
      try {
        parse(Buffer.from(text), 1000);
      } catch (error) {
        thrown = error;
      }
      expect(words(thrown)).toEqual({ code: 'provider', detail: 'malformed_frame', effect: 'unknown' });
    },
  );

  test.each([[['256', '0', '0', '-']], [['0', '0', '0']], [['', '0', '0', '-']], [['0', 'x', '0', '-']]])(
    '%p is no exit',
    (values) => {
      expect(() => recordedExit(values)).toThrow(/something else/);
    },
  );
});

/** `code`, `detail` and `effect` of a SandboxError. */
function words(error: unknown): unknown {
  const { code, detail, effect } = error as SandboxError;
  return { code, detail, effect };
}
