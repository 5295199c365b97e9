import { describe, expect, test } from '@jest/globals';
import { SandboxError } from '#libs/contract';
import { expectBytes, expectEqual, expectError, expectRejection, expectThat } from './expect.js';
import { Mismatch } from './mismatch.js';

function mismatch(check: () => unknown): Mismatch {
  try {
    check();
  } catch (error) {
    if (error instanceof Mismatch) return error;
    throw error;
  }
  throw new Error('it held');
}

describe('the checks of cases', () => {
  test('compare deeply, and tell both sides', () => {
    expect(() => expectEqual('a list', [{ a: 1 }], [{ a: 1 }])).not.toThrow();
    const { what, expected, observed } = mismatch(() => expectEqual('a list', [1], [1, 2]));
    expect([what, expected, observed]).toEqual(['a list', '[1, 2]', '[1]']);
  });

  test('tell the first byte that differs', () => {
    expect(() => expectBytes('output', Buffer.from('same'), 'same')).not.toThrow();
    expect(mismatch(() => expectBytes('output', Buffer.from('saint'), 'same')).message).toContain(
      'output, which differs from byte 2 on: expected 4 bytes',
    );
    expect(mismatch(() => expectBytes('output', Buffer.from('sam'), 'same')).message).toContain('from byte 3 on');
  });

  test('hold a statement to be true', () => {
    expect(() => expectThat('it', true, 'yes', 'no')).not.toThrow();
    expect(mismatch(() => expectThat('it', false, 'yes', 'no')).message).toBe('it: expected yes, observed "no"');
  });

  test('take an error by code, detail and effect, of which some may be several', () => {
    const error = new SandboxError('unavailable', { detail: 'timeout', effect: 'done' });
    expect(expectError('a call', error, { code: ['denied', 'unavailable'], detail: 'timeout' })).toBe(error);
    expect(() => expectError('a call', error, { code: 'unavailable', effect: 'none' })).toThrow(Mismatch);
    expect(() => expectError('a call', error, { code: 'denied' })).toThrow(Mismatch);
    expect(() => expectError('a call', new Error('plain'), { code: 'unavailable' })).toThrow(Mismatch);
  });

  test('await a rejection, and take no other outcome for it', async () => {
    const error = new SandboxError('denied');
    await expect(expectRejection('a call', Promise.reject(error), { code: 'denied' })).resolves.toBe(error);
    await expect(expectRejection('a call', Promise.resolve(7), { code: 'denied' })).rejects.toThrow('resolved with 7');
  });
});
