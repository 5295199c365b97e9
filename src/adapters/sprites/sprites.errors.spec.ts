import { describe, expect, test } from '@jest/globals';
import type { SandboxError } from '#libs/contract';
import { answerError } from './sprites.errors.js';

const answer = (status: number, body: unknown = {}, headers: Record<string, string> = {}) => ({
  status,
  headers: new Headers(headers),
  text: () => (typeof body === 'string' ? body : JSON.stringify(body)),
});

describe('answers of the Sprites API', () => {
  test.each<[number, string, string | undefined, string]>([
    [302, 'provider', 'malformed_reply', 'unknown'],
    [400, 'invalid', undefined, 'none'],
    [401, 'denied', undefined, 'none'],
    [403, 'denied', undefined, 'none'],
    [404, 'provider', 'malformed_reply', 'unknown'],
    [405, 'invalid', undefined, 'none'],
    [408, 'unavailable', undefined, 'unknown'],
    [409, 'unavailable', undefined, 'none'],
    [410, 'provider', 'malformed_reply', 'unknown'],
    [413, 'invalid', 'request_too_large', 'none'],
    [414, 'invalid', 'request_too_large', 'none'],
    [418, 'invalid', undefined, 'none'],
    [422, 'invalid', undefined, 'none'],
    [429, 'rate_limited', undefined, 'none'],
    [500, 'unavailable', undefined, 'unknown'],
    [502, 'unavailable', undefined, 'unknown'],
    [503, 'unavailable', undefined, 'unknown'],
    [599, 'unavailable', undefined, 'unknown'],
  ])('%p is %s, %s, %s', (status, code, detail, effect) => {
    expect(words(answerError(answer(status)))).toEqual({ code, detail, effect });
    expect(words(answerError(answer(status, '<html>no</html>')))).toEqual({ code, detail, effect });
  });

  test.each([404, 410])('a %p is not_found only in the words of the service', (status) => {
    const said = { code: 'provider', detail: 'malformed_reply', effect: 'unknown' };
    const strange = [
      '\n<html>no</html>',
      '<p>sprite not found</p>',
      '404 page not found\n',
      '',
      '{"error":',
      { error: 1 },
    ];
    for (const body of strange) {
      expect(words(answerError(answer(status, body)))).toEqual(said);
      expect(words(answerError(answer(status, body), 'read'))).toEqual(said);
    }
    const missing = { code: 'not_found', detail: undefined, effect: 'none' };
    for (const body of [{ error: 'sprite not found' }, 'session not found: 7', 'Checkpoint v1 not found\n']) {
      expect(words(answerError(answer(status, body)))).toEqual(missing);
    }
  });

  test('a refusal says what attempts before may have done', () => {
    const { code, effect } = answerError({ ...answer(400), earlier: 'unknown' });
    expect([code, effect]).toEqual(['invalid', 'unknown']);
  });

  test.each<[string, number, string, string, string | undefined, string]>([
    ['ENOENT', 404, 'read', 'not_found', undefined, 'none'],
    ['ENOTDIR', 400, 'read', 'not_found', undefined, 'none'],
    ['EISDIR', 400, 'read', 'invalid', undefined, 'none'],
    ['EACCES', 500, 'read', 'denied', undefined, 'none'],
    ['EISDIR', 400, 'write', 'write_failed', undefined, 'none'],
    ['EACCES', 500, 'write', 'write_failed', undefined, 'none'],
    ['EINVAL', 400, 'write', 'invalid', undefined, 'none'],
    ['ENOSPC', 500, 'write', 'write_failed', 'disk_full', 'unknown'],
    ['EIO', 500, 'write', 'write_failed', undefined, 'unknown'],
    ['ENOENT', 404, 'write', 'write_failed', undefined, 'none'],
    ['EWHAT', 404, 'read', 'not_found', undefined, 'none'],
    ['constructor', 408, 'write', 'unavailable', undefined, 'unknown'],
  ])('%s with %p of a %s is %s, %s, %s', (fileCode, status, use, code, detail, effect) => {
    const error = answerError(answer(status, { code: fileCode, error: 'x' }), use as 'read' | 'write');
    expect(words(error)).toEqual({ code, detail, effect });
  });

  test('the wait of a 429 is that of the body before that of the header, in seconds or as a date', () => {
    const inHour = new Date(Date.now() + 3_600_000).toUTCString();
    expect(answerError(answer(429, { retry_after_seconds: 7 }, { 'retry-after': '9' })).retryAfterMs).toBe(7_000);
    expect(answerError(answer(429, {}, { 'retry-after': '9' })).retryAfterMs).toBe(9_000);
    const ms = answerError(answer(429, 'x', { 'retry-after': inHour })).retryAfterMs ?? 0;
    expect(ms).toBeGreaterThan(3_590_000);
    expect(ms).toBeLessThanOrEqual(3_600_000);
    expect(answerError(answer(503, {}, { 'retry-after': '2' })).retryAfterMs).toBe(2_000);
    expect(answerError(answer(429)).retryAfterMs).toBeUndefined();
  });

  test('what the service says in words is not repeated', () => {
    const error = answerError(answer(500, { error: 'npm token=hunter2', message: 'hunter2' }));
    expect(JSON.stringify([error, error.message])).not.toContain('hunter2');
  });
});

/** `code`, `detail` and `effect` of a SandboxError. */
function words(error: unknown): unknown {
  const { code, detail, effect } = error as SandboxError;
  return { code, detail, effect };
}
