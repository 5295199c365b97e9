import { describe, expect, test } from '@jest/globals';
import { abortedError } from './aborted.js';
import { DEFAULTS } from './adapter-defaults.js';
import { AdapterMethods } from './adapter-methods.js';
import { checkInteger, checkObject, checkWellFormed, invalidArgument, kindOf } from './checks.js';
import { detachedError } from './command-stream.js';
import { SANDBOX_ERROR_CODES, traitsOf, type SandboxErrorCode } from './error-codes.js';
import { operationError } from './operation-error.js';
import { SandboxAdapter } from './sandbox-adapter.js';
import { SandboxError } from './sandbox-error.js';

const call = { provider: 'p', operation: 'exec' };

describe('errors that are made in one place', () => {
  test.each<[what: string, error: SandboxError, expected: object]>([
    ['a malformed argument', invalidArgument('port: no'), { code: 'invalid', detail: 'argument', effect: 'none' }],
    ['a detached reader', detachedError(), { code: 'unavailable', detail: 'detached' }],
    [
      'an aborted call',
      abortedError(AbortSignal.abort('why'), 'unknown', 'exec'),
      { code: 'aborted', effect: 'unknown', cause: 'why', operation: 'exec' },
    ],
    [
      'an error of unknown kind',
      operationError(new TypeError('secret'), call),
      { ...call, code: 'provider', effect: 'unknown', message: 'exec failed with an unexpected TypeError' },
    ],
    [
      'one of a call that only reads',
      operationError(new SandboxError('unavailable', { effect: 'unknown' }), { ...call, readOnly: true }),
      { ...call, code: 'unavailable', effect: 'none' },
    ],
    [
      'one after the signal fired',
      operationError(new Error('secret'), { ...call, signal: AbortSignal.abort('why') }),
      { ...call, code: 'aborted', effect: 'unknown', cause: 'why' },
    ],
  ])('%s', (_, error, expected) => {
    expect(error).toBeInstanceOf(SandboxError);
    expect(error).toMatchObject(expected);
  });

  test('every code has traits, one of a later version has none', () => {
    expect(SANDBOX_ERROR_CODES.filter((code) => traitsOf(code) === undefined)).toEqual([]);
    expect(traitsOf('unavailable')).toMatchObject({ transient: true, effect: 'unknown' });
    expect(traitsOf('of_the_future' as SandboxErrorCode)).toBeUndefined();
  });
});

describe('checks', () => {
  test.each<[value: unknown, kind: string]>([
    [null, 'null'],
    [undefined, 'nothing'],
    [7, '7'],
    ['secret', 'a string'],
    [['secret'], 'an array'],
    [{ secret: 1 }, 'an object'],
  ])('%j is called %s', (value, kind) => {
    expect(kindOf(value)).toBe(kind);
  });

  test('give back what is sound', () => {
    const object = { a: 1 };
    expect([checkInteger('n', 2, 1, 2), checkObject('o', object), checkWellFormed('s', 'é')]).toEqual([2, object, 'é']);
  });

  test.each<[what: string, check: () => unknown, message: string]>([
    ['an integer out of range', () => checkInteger('n', 3, 1, 2), 'n: expected an integer from 1 to 2, got 3'],
    ['a fraction', () => checkInteger('n', 1.5, 1, 2), 'n: expected an integer from 1 to 2, got 1.5'],
    ['an array for an object', () => checkObject('o', []), 'o: expected an object, got an array'],
    ['half a character', () => checkWellFormed('s', '\ud800'), 's: contains a lone surrogate'],
  ])('refuse %s', (_, check, message) => {
    expect(check).toThrow(message);
  });
});

test('an adapter answers for what it has no method for', () => {
  expect(SandboxAdapter.prototype).toBeInstanceOf(AdapterMethods);
  expect(DEFAULTS).toEqual({ maxOutputBytes: 16_777_216, terminateGraceMs: 10_000, terminal: { cols: 80, rows: 24 } });
});
