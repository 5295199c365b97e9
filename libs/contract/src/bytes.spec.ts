import { describe, expect, test } from '@jest/globals';
import { ByteCollector } from './byte-collector.js';
import { collectBytes, toByteSource, toBytes, type ByteSource } from './bytes.js';

const ARGUMENT = { code: 'invalid', detail: 'argument', effect: 'none' };
const TOO_LARGE = { code: 'invalid', detail: 'request_too_large', effect: 'none' };

/** An iterable that records how far it was read and whether it was let go. */
function source(pieces: unknown[]) {
  const log: string[] = [];
  async function* generate() {
    try {
      for (const piece of pieces) {
        log.push('piece');
        yield piece as string;
      }
    } finally {
      log.push('released');
    }
  }
  return { log, iterable: generate() };
}

describe('toBytes', () => {
  test('encodes text as UTF-8 and passes bytes through', () => {
    expect(toBytes('data', 'é💡')).toEqual(Buffer.from([0xc3, 0xa9, 0xf0, 0x9f, 0x92, 0xa1]));
    const bytes = Uint8Array.of(0, 255);
    expect(toBytes('data', bytes)).toBe(bytes);
  });

  test.each([[undefined], [null], [7], [{}], [new ArrayBuffer(2)], ['lone \ud800']])('refuses %p', (value) => {
    expect(() => toBytes('data', value)).toThrow(expect.objectContaining(ARGUMENT));
  });
});

describe('collectBytes', () => {
  test('gives whole content as it is, and joins pieces', async () => {
    const bytes = Uint8Array.of(1, 2);
    expect(await collectBytes(bytes, 2)).toBe(bytes);
    const { iterable } = source(['aé', Uint8Array.of(0), '']);
    expect(await collectBytes(toByteSource('content', iterable), 4)).toEqual(Buffer.from('aé\0'));
    expect(await collectBytes(toByteSource('content', source([]).iterable), 4)).toEqual(Buffer.alloc(0));
  });

  test('refuses what is beyond the limit, and lets the source go', async () => {
    await expect(collectBytes(new Uint8Array(3), 2)).rejects.toMatchObject(TOO_LARGE);
    const { iterable, log } = source(['ab', 'c', 'never']);
    await expect(collectBytes(toByteSource('content', iterable), 2)).rejects.toMatchObject(TOO_LARGE);
    expect(log).toEqual(['piece', 'piece', 'released']);
  });

  test('refuses a piece that is neither bytes nor text, and lets the source go', async () => {
    const { iterable, log } = source(['a', 5, 'never']);
    await expect(collectBytes(toByteSource('content', iterable), 9)).rejects.toMatchObject({
      ...ARGUMENT,
      message: 'content: a piece: expected bytes or a string, got 5',
    });
    expect(log).toEqual(['piece', 'piece', 'released']);
  });

  test("passes the source's own error on as it is", async () => {
    const failure = new Error('disk');
    const failing: ByteSource = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(failure) }) };
    await expect(collectBytes(failing, 9)).rejects.toBe(failure);
  });
});

describe('ByteCollector', () => {
  test('joins a million tiny pieces exactly', () => {
    const collector = new ByteCollector(1_000_000);
    for (let i = 0; i < 1_000_000; i += 1) collector.append(Uint8Array.of(i & 255));
    const bytes = collector.bytes();
    expect(bytes.byteLength).toBe(1_000_000);
    expect(bytes.every((byte, i) => byte === (i & 255))).toBe(true);
    expect(bytes.buffer.byteLength).toBe(1_000_000);
  });

  test('copies: a piece may be reused by its owner', () => {
    const piece = Uint8Array.of(1);
    const collector = new ByteCollector(1_000);
    collector.append(piece);
    piece[0] = 9;
    expect([...collector.bytes()]).toEqual([1]);
    expect(collector.bytes().buffer.byteLength).toBe(1);
  });

  test('gives exactly what came, where more was expected', () => {
    const collector = new ByteCollector(20_000, 10_000);
    for (let i = 0; i < 2; i += 1) collector.append(new Uint8Array(4_000).fill(i));
    expect(collector.bytes()).toEqual(Buffer.concat([Buffer.alloc(4_000, 0), Buffer.alloc(4_000, 1)]));
    expect(collector.bytes().buffer.byteLength).toBe(8_000);
  });

  test('takes more than expected', () => {
    const collector = new ByteCollector(1);
    for (let i = 0; i < 3; i += 1) collector.append(new Uint8Array(5000).fill(i));
    expect(collector.length).toBe(15_000);
    expect([collector.bytes()[0], collector.bytes()[14_999]]).toEqual([0, 2]);
  });
});
