import { describe, expect, test } from '@jest/globals';
import type { SandboxError } from '#libs/contract';
import {
  apiError,
  fileError,
  isGatewayFailure,
  isNotFound,
  isParked,
  neverArrived,
  toolboxError,
} from './daytona.errors.js';

const answer = (status: number, body: unknown = {}, headers: Record<string, string> = {}) => ({
  status,
  headers: new Headers(headers),
  text: () => (typeof body === 'string' ? body : JSON.stringify(body)),
});

const MISSING = {
  path: '/api/sandbox/x',
  statusCode: 404,
  error: 'Not Found',
  message: 'Sandbox with ID or name x not found',
};
const NO_ROUTE = { path: '/api/sandbox/x/resize', statusCode: 404, message: 'Cannot POST /api/sandbox/x/resize' };
const PARKED = {
  statusCode: 400,
  code: 'BAD_REQUEST',
  message: 'bad request: failed to resolve container IP after 3 attempts: no IP. Is the Sandbox started?',
};
const NO_CONTAINER = { statusCode: 404, code: 'NOT_FOUND', message: 'not found: sandbox container not found' };
const NO_SESSION = {
  statusCode: 404,
  code: 'NOT_FOUND',
  message: 'not found: session not found',
  source: 'DAYTONA_DAEMON',
};
const HTML = '<html>no</html>';

describe('answers of the Daytona control plane', () => {
  test.each<[number, string, string | undefined, string]>([
    [302, 'provider', 'malformed_reply', 'unknown'],
    [400, 'invalid', undefined, 'none'],
    [401, 'denied', undefined, 'none'],
    [403, 'denied', undefined, 'none'],
    [404, 'unavailable', undefined, 'none'],
    [405, 'not_supported', undefined, 'none'],
    [408, 'unavailable', undefined, 'unknown'],
    [409, 'unavailable', undefined, 'none'],
    [413, 'invalid', 'request_too_large', 'none'],
    [418, 'invalid', undefined, 'none'],
    [422, 'not_supported', undefined, 'none'],
    [429, 'rate_limited', undefined, 'none'],
    [500, 'unavailable', undefined, 'unknown'],
    [502, 'unavailable', undefined, 'unknown'],
    [503, 'unavailable', undefined, 'unknown'],
    [599, 'unavailable', undefined, 'unknown'],
  ])('%p is %s, %s, %s', (status, code, detail, effect) => {
    expect(words(apiError(answer(status)))).toEqual({ code, detail, effect });
    expect(words(apiError(answer(status, HTML)))).toEqual({ code, detail, effect });
    expect(words(toolboxError(answer(status, HTML)))).toEqual({ code, detail, effect });
  });

  test.each<[string, string, number, unknown]>([
    ['its own word about the sandbox', 'not_found', 404, MISSING],
    ['a route that an organization does not have', 'not_supported', 404, NO_ROUTE],
    ['a page', 'unavailable', 404, HTML],
    ['nothing', 'unavailable', 404, ''],
    ['a body without a path', 'unavailable', 404, { statusCode: 404, message: 'no' }],
    ['a body of another status', 'unavailable', 404, { ...MISSING, statusCode: 400 }],
    ['a body of another type', 'unavailable', 404, { ...MISSING, statusCode: '404' }],
  ])('a 404 with %s is %s', (_, code, status, body) => {
    expect(apiError(answer(status, body)).code).toBe(code);
    expect(isNotFound(answer(status, body))).toBe(code === 'not_found');
  });

  test('no other status says that there is no sandbox', () => {
    for (const status of [200, 400, 401, 403, 410, 500]) expect(isNotFound(answer(status, MISSING))).toBe(false);
  });

  test('the wait of a 429 is the longest that any of its headers says', () => {
    const headers = { 'Retry-After-sandbox-create': '7', 'Retry-After-authenticated': '2' };
    expect(apiError(answer(429, {}, headers)).retryAfterMs).toBe(7_000);
    expect(apiError(answer(429, {}, { 'Retry-After': '9' })).retryAfterMs).toBe(9_000);
    expect(apiError(answer(503, {}, { 'Retry-After': '1' })).retryAfterMs).toBe(1_000);
    expect(apiError(answer(429)).retryAfterMs).toBeUndefined();
    expect(apiError(answer(400, {}, headers)).retryAfterMs).toBeUndefined();
  });

  test('what the service says in words is not repeated', () => {
    const body = { statusCode: 500, message: 'hunter2', error: 'hunter2' };
    for (const error of [apiError(answer(500, body)), toolboxError(answer(400, body)), fileError(answer(404, body))]) {
      expect(JSON.stringify([error, error.message])).not.toContain('hunter2');
    }
  });
});

describe('answers of the Daytona toolbox', () => {
  test.each<[string, number, unknown]>([
    ['a sandbox that does not run', 400, PARKED],
    ['one in storage', 404, NO_CONTAINER],
    ['a session', 404, NO_SESSION],
    ['a route', 404, '404 page not found'],
    ['nothing', 404, ''],
    ['the sandbox, as the control plane would', 404, MISSING],
    ['a gateway', 502, ''],
  ])('about %s are never not_found', (_, status, body) => {
    expect(toolboxError(answer(status, body)).code).toBe('unavailable');
  });

  test.each<[string, boolean, number, unknown]>([
    ['a sandbox that does not run', true, 400, PARKED],
    ['one in storage', true, 404, NO_CONTAINER],
    ['a credential', true, 401, {}],
    ['a 404 without a word', true, 404, ''],
    ['a bad request', false, 400, { statusCode: 400, code: 'BAD_REQUEST', message: 'bad request: no' }],
    ['a missing file', false, 404, { statusCode: 404, code: 'FILE_NOT_FOUND', message: 'no' }],
    ['a gateway', false, 502, ''],
    ['a success', false, 200, {}],
  ])('about %s may be of the proxy: %p', (_, expected, status, body) => {
    expect(neverArrived(answer(status, body))).toBe(expected);
  });

  test('only the text about the container says that a sandbox does not run', () => {
    expect(isParked(answer(400, PARKED))).toBe(true);
    expect(isParked(answer(400, { ...PARKED, message: 'bad request: command is required' }))).toBe(false);
    expect(isParked(answer(500, PARKED))).toBe(false);
    expect(toolboxError(answer(400, PARKED))).toMatchObject({ code: 'unavailable', effect: 'none' });
  });

  test('a bad gateway leaves open what was done', () => {
    expect([502, 503, 504].map((status) => isGatewayFailure({ ...answer(status) }))).toEqual([true, true, true]);
    expect(isGatewayFailure(answer(500))).toBe(false);
  });

  test.each<[string, string, number, unknown]>([
    ['FILE_NOT_FOUND', 'not_found', 404, { code: 'FILE_NOT_FOUND' }],
    ['FILE_ACCESS_DENIED', 'denied', 403, { code: 'FILE_ACCESS_DENIED' }],
    ['FILE_READ_FAILED', 'unavailable', 500, { code: 'FILE_READ_FAILED' }],
    ['INVALID_FILE_PATH', 'invalid', 400, { code: 'INVALID_FILE_PATH' }],
    ['a code that no daemon has', 'invalid', 400, { code: 'constructor' }],
    ['no code and a 404, once the sandbox is known to run', 'not_found', 404, ''],
    ['no code and a 403', 'denied', 403, ''],
    ['no code and a 400', 'invalid', 400, ''],
  ])('of a file call with %s are %s', (_, code, status, body) => {
    expect(fileError(answer(status, body)).code).toBe(code);
  });
});

/** `code`, `detail` and `effect` of a SandboxError. */
function words(error: unknown): unknown {
  const { code, detail, effect } = error as SandboxError;
  return { code, detail, effect };
}
