import { describe, expect, test } from '@jest/globals';
import type { LinkEnd } from './dial.js';
import { verdict } from './verdict.js';

const URL = 'http://h:1';
const refused = (status: number, says = ''): LinkEnd => ({ kind: 'refused', status, says });
const closed = (code: number, reason = ''): LinkEnd => ({ kind: 'closed', code, reason });

describe('verdict', () => {
  test.each<[LinkEnd, boolean, string]>([
    [refused(400), true, "the platform at http://h:1 did not accept this daemon's introduction (400)"],
    [
      refused(401, 'no such token'),
      true,
      'the platform at http://h:1 refused the token (401): take a fresh token for this runner from the platform; it says: no such token',
    ],
    [refused(403), true, 'the platform at http://h:1 does not let this runner in (403)'],
    [
      refused(404, '<html>'),
      true,
      'the platform at http://h:1 does not know this runner (404): check the URL, and that the runner was not deleted',
    ],
    [refused(409), false, 'the platform at http://h:1 has another daemon connected as this runner (409)'],
    [
      refused(302),
      false,
      'the platform at http://h:1 answered with a redirect (302), which is not followed: give its real URL',
    ],
    [refused(503, 'busy'), false, 'the platform at http://h:1 answered 503; it says: busy'],
    [refused(200), false, 'the platform at http://h:1 answered 200'],
    [{ kind: 'unreachable', problem: 'ECONNREFUSED' }, false, 'cannot reach the platform at http://h:1: ECONNREFUSED'],
    [
      { kind: 'unreachable', problem: 'EPROTO' },
      false,
      'cannot reach the platform at http://h:1: EPROTO; it may speak http there and no https',
    ],
    [closed(4404), true, 'the platform at http://h:1 has deleted this runner'],
    [closed(4409), false, 'another daemon with the same token is connected to the platform, or was until a moment ago'],
    [closed(1001), false, 'the platform at http://h:1 is shutting down'],
    [closed(1006), false, 'lost the link to the platform at http://h:1 (1006)'],
    [closed(1013, 'later'), false, 'lost the link to the platform at http://h:1 (1013 later)'],
  ])('%j: permanent %p', (end, permanent, message) => {
    expect(verdict(end, URL)).toEqual({ permanent, message });
  });
});
