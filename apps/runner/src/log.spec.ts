import { describe, expect, test } from '@jest/globals';
import { createLog, type LogLevel } from './log.js';

const NOON = new Date('2026-01-02T12:00:00.000Z');

function lines(level: LogLevel, use: (log: ReturnType<typeof createLog>) => void): string[] {
  const written: string[] = [];
  use(
    createLog(
      level,
      (line) => written.push(line),
      () => NOON,
    ),
  );
  return written;
}

describe('createLog', () => {
  test('writes time, level, message and fields in one line', () => {
    expect(lines('info', (log) => log.info('link up', { url: 'http://h:1/x', ms: 5, none: undefined }))).toEqual([
      '2026-01-02T12:00:00.000Z info link up url=http://h:1/x ms=5\n',
    ]);
  });

  test.each<[string, string]>([
    ['two words', '"two words"'],
    ['a\nb', '"a\\nb"'],
    ['', '""'],
    ['a"b', '"a\\"b"'],
    ['\u001b[31m', '"\\u001b[31m"'],
    ['a\u2028b', '"a\\u2028b"'],
    ['\u202eb', '"\\u202eb"'],
    ['\u009b1m', '"\\u009b1m"'],
  ])('keeps %j on one line and harmless', (value, shown) => {
    expect(lines('info', (log) => log.info('m', { value }))).toEqual([
      `2026-01-02T12:00:00.000Z info m value=${shown}\n`,
    ]);
  });

  test('keeps a message on one line', () => {
    expect(lines('info', (log) => log.info('a\nb'))).toEqual(['2026-01-02T12:00:00.000Z info a b\n']);
  });

  test('drops what is below the level', () => {
    const all = lines('warn', (log) => {
      log.error('1');
      log.warn('2');
      log.info('3');
      log.debug('4');
    });
    expect(all.map((line) => line.split(' ')[1])).toEqual(['error', 'warn']);
  });
});
