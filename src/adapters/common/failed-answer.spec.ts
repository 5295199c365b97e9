import { describe, expect, test } from '@jest/globals';
import { SandboxError } from '#libs/contract';
import { afterEarlier, mayHaveActed } from './failed-answer.js';

const refused = new SandboxError('rate_limited', { retryAfterMs: 7 });
const done = new SandboxError('unavailable', { effect: 'done' });

describe('the effect of a failure', () => {
  test('is at least that of the attempts before', () => {
    expect(afterEarlier(refused, {})).toBe(refused);
    expect(afterEarlier(refused, { earlier: 'none' })).toBe(refused);
    expect(afterEarlier(refused, { earlier: 'unknown' })).toMatchObject({
      code: 'rate_limited',
      effect: 'unknown',
      retryAfterMs: 7,
    });
    expect(afterEarlier(done, { earlier: 'unknown' })).toBe(done);
  });

  test('of a look is that of what it looked after', () => {
    expect(() => mayHaveActed(refused)).toThrow(expect.objectContaining({ code: 'rate_limited', effect: 'unknown' }));
    expect(() => mayHaveActed(done)).toThrow(done);
    const other = new Error('no');
    expect(() => mayHaveActed(other)).toThrow(other);
  });
});
