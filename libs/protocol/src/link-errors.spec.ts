import { describe, expect, test } from '@jest/globals';
import { refused } from './link-errors.js';
import { ReplayEvicted } from './refusal.js';

describe('a refusal of the daemon', () => {
  test.each([
    [{ error: 'not_found' }, 'not_found', undefined, 'none', 'exec: the runner answered not_found'],
    [
      { error: 'not_found', detail: 'no such sandbox' },
      'not_found',
      'remote',
      'none',
      'exec: the runner answered not_found: no such sandbox',
    ],
    [{ error: 'command_exited' }, 'command_exited', undefined, 'none', 'exec: the runner answered command_exited'],
    [{ error: 'not_supported' }, 'not_supported', undefined, 'none', 'exec: the runner answered not_supported'],
    [
      { error: 'invalid', detail: 'no_such_directory' },
      'invalid',
      'no_such_directory',
      'none',
      'exec: the runner answered invalid: no_such_directory',
    ],
    [
      { error: 'truncated', detail: 'output_limit' },
      'truncated',
      'output_limit',
      'unknown',
      'exec: the runner answered truncated: output_limit',
    ],
    [{ error: 'unavailable' }, 'unavailable', undefined, 'unknown', 'exec: the runner answered unavailable'],
    [
      { error: 'write_failed', detail: 'disk_full' },
      'write_failed',
      'disk_full',
      'unknown',
      'exec: the runner answered write_failed: disk_full',
    ],
    [
      { error: 'unavailable', detail: 'timeout', effect: 'done' },
      'unavailable',
      'timeout',
      'done',
      'exec: the runner answered unavailable: timeout',
    ],
    [
      { error: 'unavailable', effect: 'none' },
      'unavailable',
      undefined,
      'none',
      'exec: the runner answered unavailable',
    ],
    [
      { error: 'provider', detail: 'session_lost' },
      'provider',
      'session_lost',
      'unknown',
      'exec: the runner answered provider: session_lost',
    ],
    [
      { error: 'aborted', detail: 'timeout' },
      'provider',
      'remote',
      'unknown',
      'exec: the runner answered aborted: timeout',
    ],
    [{ error: 'on_fire', detail: 'now' }, 'provider', 'remote', 'unknown', 'exec: the runner answered on_fire: now'],
    [{ error: '__proto__' }, 'provider', 'remote', 'unknown', 'exec: the runner answered __proto__'],
    [{ error: '' }, 'provider', 'remote', 'unknown', 'exec: the runner answered an error without a name'],
    [
      { error: 'invalid', detail: 'a\u0000\u001b[31m\nb\u009f' },
      'invalid',
      'remote',
      'none',
      'exec: the runner answered invalid: a [31m b',
    ],
  ] as const)('%j', (refusal, code, detail, effect, message) => {
    const error = refused('exec', refusal);
    expect([error.code, error.detail, error.effect, error.message]).toEqual([code, detail, effect, message]);
  });

  test('its text is bounded', () => {
    expect(refused('exec', { error: 'invalid', detail: 'x'.repeat(10_000) }).message).toBe(
      `exec: the runner answered invalid: ${'x'.repeat(500)}`,
    );
    expect(refused('exec', { error: 'y'.repeat(10_000) }).message).toBe(`exec: the runner answered ${'y'.repeat(500)}`);
  });

  test('of a reading request did nothing, whatever it says', () => {
    expect(refused('get', { error: 'unavailable' }).effect).toBe('none');
    expect(refused('attach', { error: 'on_fire' }).effect).toBe('none');
    expect(refused('attach', { error: 'truncated' }).effect).toBe('none');
  });

  test('says from where on a session can be replayed', () => {
    const error = refused('attach', {
      error: 'truncated',
      detail: 'replay_evicted',
      oldest: { stdout: 5, stderr: 0 },
    });
    expect([error.code, error.detail, error.effect]).toEqual(['truncated', 'replay_evicted', 'none']);
    expect(error.cause).toBeInstanceOf(ReplayEvicted);
    expect((error.cause as ReplayEvicted).oldest).toEqual({ stdout: 5, stderr: 0 });
  });
});
