import { describe, expect, test } from '@jest/globals';
import { SANDBOX_ERROR_CODES, type SandboxErrorCode } from './error-codes.js';
import { SandboxError } from './sandbox-error.js';

describe('SandboxError', () => {
  test('has only the properties that it was given', () => {
    const plain = new SandboxError('not_found');
    expect(Object.fromEntries(Object.entries(plain))).toStrictEqual({
      name: 'SandboxError',
      code: 'not_found',
      effect: 'none',
    });
    expect(plain.message).toBe('not_found');
    expect('cause' in plain).toBe(false);
    const full = new SandboxError('rate_limited', {
      message: 'slow down',
      detail: 'remote',
      effect: 'unknown',
      retryAfterMs: 0,
      provider: 'e2b',
      operation: 'get',
      cause: undefined,
    });
    expect(Object.fromEntries(Object.entries(full))).toStrictEqual({
      name: 'SandboxError',
      code: 'rate_limited',
      detail: 'remote',
      effect: 'unknown',
      retryAfterMs: 0,
      provider: 'e2b',
      operation: 'get',
    });
    expect([full.message, 'cause' in full]).toEqual(['slow down', true]);
  });

  test('says code and detail where there is no message', () => {
    expect(new SandboxError('unavailable', { detail: 'timeout' }).message).toBe('unavailable: timeout');
  });

  test('is recognised by its brand, over two copies of the package', () => {
    const branded = Object.defineProperty(new Error('x'), Symbol.for('nestjs-sandbox.SandboxError'), { value: true });
    expect(branded instanceof SandboxError).toBe(true);
    expect(new SandboxError('denied') instanceof Error).toBe(true);
    for (const other of [new Error('x'), { code: 'denied' }, null, undefined, 'denied']) {
      expect(other instanceof SandboxError).toBe(false);
    }
  });

  test('with replaces some properties and keeps the rest, stack and cause included', () => {
    const cause = new Error('inner');
    const error = new SandboxError('unavailable', { detail: 'timeout', message: 'm', effect: 'done', cause });
    const copy = error.with({ operation: 'exec', effect: 'unknown' });
    expect(copy).toMatchObject({
      code: 'unavailable',
      detail: 'timeout',
      message: 'm',
      operation: 'exec',
      effect: 'unknown',
    });
    expect([copy.cause, copy.stack]).toEqual([cause, error.stack]);
    expect(error).toMatchObject({ effect: 'done' });
    expect('operation' in error).toBe(false);
    expect('cause' in new SandboxError('denied').with({})).toBe(false);
  });
});

test('definite refusals did nothing, the rest is unknown', () => {
  expect(SANDBOX_ERROR_CODES.filter((code) => new SandboxError(code).effect === 'none')).toEqual([
    'not_found',
    'already_exists',
    'invalid',
    'not_supported',
    'denied',
    'rate_limited',
    'command_exited',
  ]);
  expect(new SandboxError('of_the_future' as SandboxErrorCode).effect).toBe('unknown');
});
