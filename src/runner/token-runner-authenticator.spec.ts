import type { IncomingMessage } from 'node:http';
import { Logger } from '@nestjs/common';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { resolveSettings } from '../common/index.js';
import { RunnerSettings } from './runner.settings.js';
import { TokenRunnerAuthenticator } from './token-runner-authenticator.js';

const A = '0123abcd-4567-89ef-0123-456789abcdef';
const B = 'fedcba98-7654-3210-fedc-ba9876543210';
const TOKENS = `${A}:first-token-of-runner-a, ${A.toUpperCase()}:second-token:of-runner-a\n\n${B}:the-token-of-runner-b`;

const authenticator = (tokens?: string): TokenRunnerAuthenticator =>
  new TokenRunnerAuthenticator(resolveSettings(RunnerSettings, { tokens }));
const dial = (query: string): IncomingMessage => ({ url: `/api/runners/ws${query}`, headers: {} }) as IncomingMessage;

afterEach(() => {
  jest.restoreAllMocks();
});

describe('the token authenticator', () => {
  test.each([
    ['first-token-of-runner-a', A],
    ['second-token:of-runner-a', A],
    ['the-token-of-runner-b', B],
  ])('knows by the token %p who dials', async (token, runnerId) => {
    await expect(authenticator(TOKENS).authenticate(dial('?name=box'), token)).resolves.toEqual({
      runnerId,
      name: 'box',
      meta: { name: 'box' },
    });
  });

  test.each([
    ['no token', '?name=box', undefined, 401],
    ['an unknown token', '?name=box', 'first-token-of-runner-x', 401],
    ['the beginning of a token', '?name=box', 'first-token-of-runner-', 401],
    ['a token with more behind it', '?name=box', 'first-token-of-runner-a ', 401],
    ['an id with its token', '?name=box', `${A}:first-token-of-runner-a`, 401],
    ['no name', '', 'first-token-of-runner-a', 400],
    ['an empty name', '?name=', 'first-token-of-runner-a', 400],
    ['a name of control characters', '?name=%00%0a', 'first-token-of-runner-a', 400],
    ['a good token in the query too', '?name=box&token=first-token-of-runner-a', 'first-token-of-runner-a', 400],
    ['an empty token in the query', '?name=box&token=', 'first-token-of-runner-a', 400],
    ['a token in the query alone', '?name=box&token=first-token-of-runner-a', undefined, 400],
  ])('refuses %s', async (_, query, token, refuse) => {
    const outcome = await authenticator(TOKENS).authenticate(dial(query), token);
    expect(outcome).toEqual({ refuse, reason: expect.any(String) });
    expect(JSON.stringify(outcome)).not.toContain('first-token');
  });

  test('keeps what the daemon says of itself, cleaned and bounded', async () => {
    const query = new URLSearchParams({
      name: `my\u0000 bo\u001b[31mx\u202e`,
      hostname: 'h'.repeat(1_000),
      os: 'linux',
      arch: 'x64',
      version: '1.2.3',
      root: '/srv/s\npaces',
      instance: 'i-1',
      __proto__: 'x',
      other: 'ignored',
    });
    const outcome = await authenticator(TOKENS).authenticate(dial(`?${query.toString()}`), 'the-token-of-runner-b');
    const meta = {
      name: 'my bo[31mx',
      hostname: 'h'.repeat(256),
      os: 'linux',
      arch: 'x64',
      version: '1.2.3',
      root: '/srv/spaces',
    };
    expect(outcome).toEqual({ runnerId: B, name: 'my bo[31mx', meta });
  });

  test('takes the same entry twice', async () => {
    const twice = authenticator(`${A}:first-token-of-runner-a ${A.toUpperCase()}:first-token-of-runner-a`);
    const outcome = await twice.authenticate(dial('?name=box'), 'first-token-of-runner-a');
    expect(outcome).toMatchObject({ runnerId: A });
  });

  test('without tokens refuses everyone and warns once', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});
    const closed = authenticator();
    for (const token of [undefined, '', 'undefined', 'first-token-of-runner-a']) {
      await expect(closed.authenticate(dial('?name=box'), token)).resolves.toMatchObject({ refuse: 401 });
    }
    expect(warn).toHaveBeenCalledTimes(1);
  });

  test.each([
    ['a token alone', 'first-token-of-runner-a', 'entry 1'],
    ['an id alone', `${A}:first-token-of-runner-a ${A}`, 'entry 2'],
    ['a short token', `${A}:123456789012345`, 'less than 16'],
    [
      'one token for two runners',
      `${A}:first-token-of-runner-a ${B}:first-token-of-runner-a`,
      'entry 2 has the token of',
    ],
    ['an id without dashes', `${A.replaceAll('-', '')}:first-token-of-runner-a`, 'entry 1'],
  ])('does not start with %s, and repeats none of it', (_, tokens, message) => {
    expect(() => authenticator(tokens)).toThrow(message);
    expect(() => authenticator(tokens)).not.toThrow(/first-token|123456/);
  });
});
