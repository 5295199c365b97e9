import { describe, expect, test } from '@jest/globals';
import type { JournalRecord } from '../common/journal-parser.js';
import { PushedLines, type PushOutcome } from './daytona.pushed-lines.js';

const FROM = { stdout: 0, stderr: 3 };
const wide = Buffer.from('x'.repeat(57)).toString('base64');
const WHOLE = ['@f 0 3 0', '@o 0 5', 'aGVsbG8=', `@e 3 60`, wide, 'eXl5', '@o 5 2', ' 00 ff', '@x 4 7 63 -'];

interface Told {
  readonly outcome: PushOutcome;
  readonly stdout: string;
  readonly stderr: string;
  readonly words: readonly string[];
}

/** What is told of text that comes in pieces of so many bytes, until the socket closes. */
async function told(text: string, size = text.length): Promise<Told> {
  const records: JournalRecord[] = [];
  const lines = new PushedLines(FROM, (record) => void records.push(record));
  let isClosed = false;
  const outcome = await lines.run(
    (_, sink) => {
      setImmediate(() => {
        for (let at = 0; at < text.length; at += size) sink.text(Buffer.from(text.slice(at, at + size), 'latin1'));
        sink.closed();
      });
      return Promise.resolve({ close: () => void (isClosed = true) });
    },
    { ...FROM, credits: 1, takeOver: false },
    new AbortController().signal,
  );
  expect(isClosed).toBe(true);
  const bytes = (stream: string): string =>
    Buffer.concat(records.flatMap((r) => (r.type === 'output' && r.stream === stream ? [r.data] : []))).toString(
      'latin1',
    );
  const words = records.flatMap((r) => (r.type === 'word' ? [[r.word, ...r.values].join(' ')] : []));
  return { outcome, stdout: bytes('stdout'), stderr: bytes('stderr'), words };
}

const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
const HELLO = { stdout: 'hello', stderr: '', words: [] };

describe('pushed lines', () => {
  test.each([1, 2, 7, 1000])('are read however they are cut (%p bytes)', async (size) => {
    expect(await told(text(WHOLE), size)).toEqual({
      outcome: 'ended',
      stdout: 'hello\0\xff',
      stderr: `${'x'.repeat(57)}yyy`,
      words: ['x 4 7 63 -'],
    });
  });

  test('are given up once there are many, in the middle of a piece too, of which nothing is told', async () => {
    const line = Buffer.from('y'.repeat(57)).toString('base64');
    const many = ['@f 0 3 0', '@o 0 5', 'aGVsbG8=', '@o 5 1000000', ...Array.from({ length: 4700 }, () => line)];
    expect(await told(text(many), 4096)).toEqual({ ...HELLO, outcome: 'heavy' });
    expect(await told(text(many.slice(0, 4000)), 4096)).toEqual({ ...HELLO, outcome: 'broken' });
  });

  // What is missing or comes twice is never made up for by other bytes.
  test.each(WHOLE.slice(1).map((line, at) => [line, at + 1] as const))('without %p: no wrong byte', async (_, at) => {
    const { outcome, stdout, stderr, words } = await told(text(WHOLE.toSpliced(at, 1)));
    expect('hello\0\xff'.startsWith(stdout)).toBe(true);
    expect(`${'x'.repeat(57)}yyy`.startsWith(stderr)).toBe(true);
    expect([outcome, words]).toEqual(['broken', []]);
  });

  test.each(WHOLE.slice(1, -1).map((line, at) => [line, at + 1] as const))(
    'with %p twice: no wrong byte',
    async (line, at) => {
      const { outcome, stdout, stderr, words } = await told(text(WHOLE.toSpliced(at, 0, line)));
      expect('hello\0\xff'.startsWith(stdout)).toBe(true);
      expect(`${'x'.repeat(57)}yyy`.startsWith(stderr)).toBe(true);
      expect([outcome, words]).toEqual(['broken', []]);
    },
  );

  test.each<[string, PushOutcome, readonly string[]]>([
    ['an exit behind other bytes', 'broken', ['@o 0 5', 'aGVsbG8=', '@x 0 9 3 -']],
    ['an exit that is none', 'broken', ['@o 0 5', 'aGVsbG8=', '@x 0']],
    ['the loss of the session', 'silent', ['@o 0 5', 'aGVsbG8=', '@l']],
    ['that there is no session', 'silent', ['@o 0 5', 'aGVsbG8=', '@n']],
    ['bytes that are not of its encoding', 'broken', ['@o 0 5', 'aGVsbG8=', '@o 5 2', '!!!!']],
    ['bytes of no piece', 'broken', ['@o 0 5', 'aGVsbG8=', 'aGVsbG8=']],
    ['a line without an end', 'broken', ['@o 0 5', 'aGVsbG8=', 'A'.repeat(3000)]],
  ])('%s ends a push, and is not told', async (_, outcome, lines) => {
    expect(await told(text(lines))).toEqual({ ...HELLO, outcome });
  });

  test('after what is broken nothing is told any more', async () => {
    const rest = ['@o 0 5', 'aGVsbG8=', '@o 9 1', 'eQ==', '@o 5 1', 'eg==', '@x 0 6 3 -'];
    expect(await told(text(rest), 4)).toEqual({ ...HELLO, outcome: 'broken' });
  });
});
