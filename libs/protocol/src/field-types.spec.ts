import { describe, expect, test } from '@jest/globals';
import { MISMATCH, ShapeError, readShape, writeShape } from './field.js';
import {
  bytes,
  count,
  flag,
  fromBase64,
  integer,
  listOf,
  offsets,
  offsetsOrNow,
  oneOf,
  pairs,
  sessionId,
  text,
  texts,
  toBase64,
} from './field-types.js';

describe('base64', () => {
  test.each([0, 1, 2, 3, 4, 255, 256, 65_536])('%i bytes come back as they were, from a view as well', (length) => {
    const data = new Uint8Array(length + 7).map((_, i) => (i * 37) % 256).subarray(7);
    expect(Buffer.compare(fromBase64(toBase64(data)) as Uint8Array, data)).toBe(0);
  });

  test.each([
    ['the URL-safe alphabet, minus', 'AB-D'],
    ['the URL-safe alphabet, underscore', 'AB_D'],
    ['no padding', 'YQ'],
    ['too little padding', 'YQ='],
    ['too much padding', 'YWI=='],
    ['padding alone', '===='],
    ['three characters of padding', 'A==='],
    ['padding inside', 'YQ==YWJj'],
    ['padding between data', 'Y=Q='],
    ['padding twice', 'YQ==YQ=='],
    ['a space', 'YW J'],
    ['four spaces', 'YWJj    '],
    ['a line break', 'YWJjYWJj\r\nYW'],
    ['a NUL', 'YWJ\0'],
    ['a character of Latin-1', 'YWJé'],
    ['characters whose low bytes are base64', '\u0159\u0151=='],
    ['a fullwidth character', 'YWJ\uff41'],
    ['a lone surrogate', 'YWJ\ud800'],
    ['plain text', 'hello, world'],
  ])('%s is not base64', (_title, encoded) => {
    expect(fromBase64(encoded)).toBeUndefined();
  });
});

const values: Record<string, unknown> = {
  null: null,
  true: true,
  zero: 0,
  negative: -1,
  float: 1.5,
  huge: 1e308,
  unsafe: 2 ** 53,
  digits: '1',
  empty: '',
  word: 'exit',
  surrogate: '\ud800',
  array: [],
  words: ['a', 'b'],
  mixed: ['a', 1],
  pair: [['a', 'b']],
  triple: [['a', 'b', 'c']],
  object: {},
  offsets: { stdout: 1, stderr: 2 },
  half: { stdout: 1 },
};

describe('what a field takes', () => {
  test.each([
    ['text', text, ['digits', 'empty', 'word']],
    ['flag', flag, ['true']],
    ['integer', integer, ['zero', 'negative']],
    ['count', count, ['zero']],
    ['texts', texts, ['array', 'words']],
    ['pairs', pairs, ['array', 'pair']],
    ['sessionId', sessionId, ['digits', 'word']],
    ['bytes', bytes, ['empty', 'word']],
    ['offsets', offsets, ['offsets']],
    ['offsetsOrNow', offsetsOrNow, ['offsets']],
    ['oneOf', oneOf('exit', 'stdout'), ['word']],
    ['listOf', listOf({ stdout: count }), ['array']],
  ])('%s', (_name, field, taken) => {
    const read = Object.keys(values).filter((key) => field.read(values[key]) !== MISMATCH);
    expect(read).toEqual(taken);
  });

  test.each([
    ['a session id of 256 characters', sessionId, 'x'.repeat(256), 'x'.repeat(256)],
    ['a session id of 257', sessionId, 'x'.repeat(257), MISMATCH],
    ['"now"', offsetsOrNow, 'now', 'now'],
    ['another word for a place', offsetsOrNow, 'then', MISMATCH],
    ['offsets with more members', offsets, { stdout: 1, stderr: 2, other: 3 }, { stdout: 1, stderr: 2 }],
    ['offsets below zero', offsets, { stdout: 1, stderr: -1 }, MISMATCH],
    ['a list with one bad item', listOf({ stdout: count }), [{ stdout: 1 }, { stdout: '2' }], MISMATCH],
    ['a list of good items', listOf({ stdout: count }), [{ stdout: 1 }], [{ stdout: 1 }]],
    ['a pair with a number', pairs, [['a', 1]], MISMATCH],
    ['a pair with a lone surrogate', pairs, [['a', '\udfff']], MISMATCH],
    ['an object for pairs', pairs, { a: 'b' }, MISMATCH],
  ])('%s', (_title, field, value, expected) => {
    expect(field.read(value)).toEqual(expected);
  });
});

describe('shapes', () => {
  const shape = { name: text, sessionId, note: text.opt() };

  test('read by wire names, write them back, and leave out what is missing', () => {
    const typed = readShape(shape, { name: 'n', session_id: 's', sessionId: 'ignored', note: null, more: 1 });
    expect(typed).toEqual({ name: 'n', sessionId: 's' });
    expect(writeShape(shape, typed)).toEqual({ name: 'n', session_id: 's' });
  });

  test.each([
    ['frame', null, 'an object'],
    ['frame', [], 'an object'],
    ['frame', 'x', 'an object'],
    ['name', {}, 'a well-formed string'],
    ['name', { name: null, session_id: 's' }, 'a well-formed string'],
    ['session_id', { name: 'n', session_id: 7 }, 'a session id of 1 to 256 characters'],
    ['note', { name: 'n', session_id: 's', note: 7 }, 'a well-formed string'],
  ])('name the member %s that is wrong in %j', (member, value, expected) => {
    expect(() => readShape(shape, value)).toThrow(new ShapeError(member, expected));
  });

  test('take nothing from a prototype', () => {
    const value = JSON.parse('{"__proto__":{"name":"n"},"session_id":"s"}') as unknown;
    expect(() => readShape(shape, value)).toThrow('name: expected a well-formed string');
    expect(() => readShape(shape, Object.create({ name: 'n', session_id: 's' }))).toThrow(ShapeError);
    expect(readShape({ constructor: text.opt() }, {})).toEqual({});
  });

  test('never put a value into the message of their error', () => {
    expect(() => readShape({ code: integer }, { code: 'secret' })).toThrow(/^code: expected an integer$/);
  });
});
