import type { IncomingMessage } from 'node:http';
import { Logger } from '@nestjs/common';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { RunnerAuthenticator } from './runner-authenticator.js';
import { UpgradeGuard } from './upgrade-guard.js';

const ID = '0123abcd-4567-89ef-0123-456789abcdef';
const request = (authorization?: string): IncomingMessage => ({ headers: { authorization } }) as IncomingMessage;

function guardOver(authenticate: RunnerAuthenticator['authenticate']): UpgradeGuard {
  return new UpgradeGuard({ authenticate }, 10);
}

/** What the guard answered, as `ws` is told. */
function verify(guard: UpgradeGuard, dial: IncomingMessage): Promise<unknown[]> {
  return new Promise((resolve) => {
    guard.verify(dial, (...answer) => resolve(answer));
  });
}

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

describe('UpgradeGuard', () => {
  test('keeps whom it admitted by the request, with the id in lower case', async () => {
    const guard = guardOver(async () => ({ runnerId: ID.toUpperCase(), name: 'box' }));
    const dial = request();
    await expect(verify(guard, dial)).resolves.toEqual([true]);
    expect(guard.admitted(dial)).toEqual({ runnerId: ID, name: 'box' });
    expect(guard.admitted(request())).toBeUndefined();
  });

  test.each([
    ['Bearer abc', 'abc'],
    ['bearer   abc  ', 'abc'],
    ['Bearer', undefined],
    ['Bearer a b', undefined],
    ['Basic abc', undefined],
    ['xBearer abc', undefined],
    [undefined, undefined],
  ])('reads the header %p as the token %p', async (header, token) => {
    const authenticate = jest.fn<RunnerAuthenticator['authenticate']>(async () => ({ refuse: 401, reason: 'no' }));
    await verify(guardOver(authenticate), request(header));
    expect(authenticate.mock.calls[0]?.[1]).toBe(token);
  });

  test('asks for a bearer token with 401 alone', async () => {
    const headersOf = async (refuse: 401 | 403): Promise<unknown> =>
      (
        await verify(
          guardOver(async () => ({ refuse, reason: 'no' })),
          request(),
        )
      )[3];
    await expect(headersOf(401)).resolves.toMatchObject({ 'WWW-Authenticate': 'Bearer' });
    await expect(headersOf(403)).resolves.not.toHaveProperty('WWW-Authenticate');
  });

  test('logs whom it refused and why, and where an authenticator failed without its words', async () => {
    const debug = jest.spyOn(Logger.prototype, 'debug').mockImplementation(() => {});
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});
    await verify(
      guardOver(async () => ({ refuse: 403, reason: 'not this one' })),
      request(),
    );
    expect(debug.mock.calls).toEqual([['Refused a dial with 403: not this one']]);
    const failing = guardOver(async () => {
      throw new TypeError('hunter2\n    at hunter2');
    });
    expect((await verify(failing, request('Bearer hunter2'))).slice(0, 2)).toEqual([false, 503]);
    const [[message, frames]] = error.mock.calls as [[string, string]];
    expect(message).toBe('The authenticator failed: TypeError');
    expect(frames).toMatch(/^ {4}at .*upgrade-guard\.spec\.ts:\d+/);
    expect(frames).not.toContain('hunter2');
  });

  test('refuses with 503 when no answer comes in 30 s, and ignores a later one', async () => {
    jest.useFakeTimers();
    let admit = (): void => {};
    const guard = guardOver(
      () =>
        new Promise((resolve) => {
          admit = () => resolve({ runnerId: ID, name: 'box' });
        }),
    );
    const dial = request();
    const answer = verify(guard, dial);
    expect(guard.pending).toBe(1);
    await jest.advanceTimersByTimeAsync(29_999);
    expect(guard.pending).toBe(1);
    await jest.advanceTimersByTimeAsync(1);
    expect((await answer).slice(0, 2)).toEqual([false, 503]);
    admit();
    await jest.advanceTimersByTimeAsync(0);
    expect([guard.pending, guard.refused, guard.admitted(dial)]).toEqual([0, 1, undefined]);
  });
});
