import { describe, expect, test } from '@jest/globals';
import type { SandboxError } from '#libs/contract';
import {
  answerError,
  connectCodeOf,
  isMissing,
  isUnreached,
  readError,
  streamError,
  uploadError,
} from './e2b.errors.js';

const answer = (status: number, body: unknown = {}, headers: Record<string, string> = {}) => ({
  status,
  headers: new Headers(headers),
  text: () => (typeof body === 'string' ? body : JSON.stringify(body)),
});

describe('answers of E2B', () => {
  test.each<[number, string, string | undefined, string]>([
    [302, 'provider', 'malformed_reply', 'unknown'],
    [400, 'invalid', undefined, 'none'],
    [401, 'denied', undefined, 'none'],
    [403, 'denied', undefined, 'none'],
    [405, 'invalid', undefined, 'none'],
    [410, 'provider', 'malformed_reply', 'unknown'],
    [408, 'unavailable', undefined, 'unknown'],
    [409, 'unavailable', undefined, 'none'],
    [413, 'invalid', 'request_too_large', 'none'],
    [418, 'invalid', undefined, 'none'],
    [429, 'rate_limited', undefined, 'none'],
    [500, 'unavailable', undefined, 'unknown'],
    [502, 'unavailable', undefined, 'unknown'],
    [503, 'unavailable', undefined, 'unknown'],
    [504, 'unavailable', undefined, 'unknown'],
    [599, 'unavailable', undefined, 'unknown'],
  ])('%p is %s, %s, %s, whatever its body is', (status, code, detail, effect) => {
    for (const body of [{}, { code: status, message: 'no' }, '<html>upstream request timeout</html>', '']) {
      expect(words(answerError(answer(status, body)))).toEqual({ code, detail, effect });
    }
  });

  test.each<[unknown, string, string | undefined, string]>([
    [{ code: 404, message: 'no' }, 'not_found', undefined, 'none'],
    [{ code: '404' }, 'provider', 'malformed_reply', 'unknown'],
    [{ message: 'no' }, 'provider', 'malformed_reply', 'unknown'],
    ['<html>404 page not found</html>', 'provider', 'malformed_reply', 'unknown'],
    ['', 'provider', 'malformed_reply', 'unknown'],
  ])('a 404 with %j is %s, %s, %s', (body, code, detail, effect) => {
    expect(words(answerError(answer(404, body)))).toEqual({ code, detail, effect });
    expect(isMissing(answer(404, body))).toBe(code === 'not_found');
  });

  test.each<[string, number, string, string | undefined, string]>([
    ['canceled', 499, 'unavailable', undefined, 'unknown'],
    ['unknown', 500, 'provider', undefined, 'unknown'],
    ['invalid_argument', 400, 'invalid', undefined, 'none'],
    ['deadline_exceeded', 504, 'unavailable', undefined, 'unknown'],
    ['not_found', 404, 'not_found', undefined, 'none'],
    ['already_exists', 409, 'invalid', undefined, 'none'],
    ['permission_denied', 403, 'denied', undefined, 'none'],
    ['resource_exhausted', 429, 'rate_limited', undefined, 'none'],
    ['failed_precondition', 400, 'invalid', undefined, 'none'],
    ['aborted', 409, 'unavailable', undefined, 'unknown'],
    ['out_of_range', 400, 'invalid', undefined, 'none'],
    ['unimplemented', 501, 'not_supported', undefined, 'none'],
    ['internal', 500, 'unavailable', undefined, 'unknown'],
    ['unavailable', 503, 'unavailable', undefined, 'unknown'],
    ['data_loss', 500, 'provider', undefined, 'unknown'],
    ['unauthenticated', 401, 'denied', undefined, 'none'],
  ])('the code %s is %s, by the status and in a stream', (connectCode, status, code, detail, effect) => {
    const failed = answer(status, { code: connectCode, message: 'no' });
    expect(words(answerError(failed))).toEqual({ code, detail, effect });
    expect(connectCodeOf(failed)).toBe(connectCode);
    expect(words(streamError(connectCode))).toEqual({ code, detail, effect });
  });

  test.each([[undefined], [7], ['no_such_code'], ['toString']])(
    'an error of a stream with the code %p is not understood',
    (code) => {
      expect(words(streamError(code))).toEqual({ code: 'provider', detail: 'malformed_frame', effect: 'unknown' });
    },
  );

  test('a code that is a number is of the way there, not of the call', () => {
    expect(connectCodeOf(answer(404, { code: 404, message: 'not found' }))).toBeUndefined();
    expect(connectCodeOf(answer(404, '404 page not found'))).toBeUndefined();
  });

  test.each<[number, unknown, boolean]>([
    [502, { sandboxId: 'i1', message: 'The sandbox was not found', code: 502 }, true],
    [502, { sandboxId: 'i1', message: 'The sandbox is running but port is not open', port: 49_983, code: 502 }, true],
    [409, { sandboxId: 'i1', message: 'changing', code: 409 }, true],
    [502, '<html>bad gateway</html>', false],
    [502, { code: 502 }, false],
    [409, { code: 'already_exists' }, false],
    [503, { sandboxId: 'i1', code: 503 }, false],
    [404, { sandboxId: 'i1', code: 404 }, false],
  ])('%p with %j never reached the sandbox: %p', (status, body, expected) => {
    expect(isUnreached(answer(status, body))).toBe(expected);
  });

  test.each([500, 503, 504])('%p of the proxy may come after the effect', (status) => {
    const failed = answer(status, { sandboxId: 'i1', message: 'timeout', code: status });
    expect(words(answerError(failed))).toEqual({ code: 'unavailable', detail: undefined, effect: 'unknown' });
  });

  test.each([
    ['sandbox_capacity_unavailable', 503],
    ['sandbox_no_compatible_node', 503],
  ])('%s made nothing', (slug, status) => {
    const error = answerError(answer(status, { code: status, message: 'no', error_code: slug }));
    expect(words(error)).toEqual({ code: 'unavailable', detail: undefined, effect: 'none' });
  });

  test.each<[number, string, string | undefined, string]>([
    [400, 'write_failed', undefined, 'none'],
    [401, 'denied', undefined, 'none'],
    [404, 'write_failed', undefined, 'none'],
    [500, 'unavailable', undefined, 'unknown'],
    [507, 'write_failed', 'disk_full', 'none'],
  ])('%p of an upload is %s, %s, %s', (status, code, detail, effect) => {
    expect(words(uploadError(answer(status, { code: status })))).toEqual({ code, detail, effect });
  });

  test.each<[number, string]>([
    [400, 'invalid'],
    [404, 'not_found'],
    [416, 'provider'],
    [500, 'unavailable'],
  ])('%p of a download is %s', (status, code) => {
    expect(readError(answer(status, { code: status })).code).toBe(code);
  });

  test('the wait of a 429 and of a 5xx is that of the header, in seconds or as a date', () => {
    const inHour = new Date(Date.now() + 3_600_000).toUTCString();
    expect(answerError(answer(429, {}, { 'retry-after': '9' })).retryAfterMs).toBe(9_000);
    expect(answerError(answer(503, {}, { 'retry-after': '2' })).retryAfterMs).toBe(2_000);
    const ms = answerError(answer(429, 'x', { 'retry-after': inHour })).retryAfterMs ?? 0;
    expect(ms).toBeGreaterThan(3_590_000);
    expect(ms).toBeLessThanOrEqual(3_600_000);
    expect(answerError(answer(429)).retryAfterMs).toBeUndefined();
    expect(answerError(answer(400, {}, { 'retry-after': '2' })).retryAfterMs).toBeUndefined();
  });

  test('what the service says in words is not repeated', () => {
    const error = answerError(answer(500, { code: 500, message: 'npm token=hunter2' }));
    expect(JSON.stringify([error, error.message])).not.toContain('hunter2');
  });
});

/** `code`, `detail` and `effect` of a SandboxError. */
function words(error: unknown): unknown {
  const { code, detail, effect } = error as SandboxError;
  return { code, detail, effect };
}
