import { describe, expect, test } from '@jest/globals';
import type { JournalRecord } from './journal-parser.js';
import { readText } from './text-records.js';

const PIECE: JournalRecord = { type: 'piece' };

function recordsOf(text: string): JournalRecord[] {
  const records: JournalRecord[] = [];
  readText(text, (record) => records.push(record));
  return records;
}

function output(stream: 'stdout' | 'stderr', offset: number, data: Buffer): JournalRecord {
  return { type: 'output', stream, offset, data };
}

describe('records in lines of text', () => {
  test('are those that they stand for, in base64 and in hexadecimal', () => {
    const bytes = Buffer.of(0, 1, 10, 64, 255);
    expect(recordsOf(`@o 0 5\n${bytes.toString('base64')}\n@e 3 2\n 00 ff\n@x 0 5 2 -\n`)).toEqual([
      output('stdout', 0, bytes),
      PIECE,
      output('stderr', 3, Buffer.of(0, 255)),
      PIECE,
      { type: 'word', word: 'x', values: ['0', '5', '2', '-'] },
    ]);
  });

  test.each([
    ['base64', (bytes: Buffer) => bytes.toString('base64').replaceAll(/.{76}/g, '$&\n')],
    [
      'hexadecimal',
      (bytes: Buffer) => bytes.toString('hex').replaceAll(/../g, ' $&').replaceAll(/.{48}/g, '$&\n').trimEnd(),
    ],
  ])('may hold bytes in many lines of %s', (_name, encoded) => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    expect(recordsOf(`@o 0 256\n${encoded(bytes)}\n`)).toEqual([output('stdout', 0, bytes), PIECE]);
  });

  test('say nothing of a line that has no end', () => {
    expect(recordsOf('@x 0 5 2 -')).toEqual([]);
    expect(recordsOf('@p\n@x 0')).toEqual([{ type: 'word', word: 'p', values: [] }]);
  });

  test.each([
    ['no word before them', 'AAE=\n'],
    ['bytes that are too few before a word', '@o 0 5\nAAE=\n@p\n'],
    ['bytes that are too few at the end', '@o 0 5\nAAE=\n'],
    ['a last line that was cut', '@o 0 5\nAAECA'],
    ['bytes that are too many, though they look like a word', `@o 0 1\n${btoa('a@p\n')}\n`],
  ])('are refused with %s', (_name, text) => {
    const malformed = expect.objectContaining({ code: 'provider', detail: 'malformed_frame' });
    expect(() => recordsOf(text)).toThrow(malformed);
  });
});
