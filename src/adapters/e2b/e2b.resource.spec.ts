import { describe, expect, test } from '@jest/globals';
import { sandboxResource } from './e2b.resource.js';

const id = 'i0123456789abcdefghij';
const NOON = 'Mon, 05 Jan 2026 12:00:00 GMT';

describe('a sandbox as the service tells of it', () => {
  test('lives on by the clock of the service', () => {
    const endAt = '2026-01-05T12:10:00.5Z';
    expect(sandboxResource({ sandboxID: id, endAt }, NOON)?.leftMs).toBe(600_500);
    const soon = new Date(Date.now() + 60_000).toISOString();
    for (const date of [undefined, null, '', 'noon']) {
      const leftMs = sandboxResource({ sandboxID: id, endAt: soon }, date)?.leftMs ?? 0;
      expect(leftMs).toBeGreaterThan(50_000);
      expect(leftMs).toBeLessThanOrEqual(60_000);
    }
    for (const never of [undefined, null, 7, '', 'tomorrow']) {
      expect(sandboxResource({ sandboxID: id, endAt: never }, NOON)).not.toHaveProperty('leftMs');
    }
  });

  test.each([
    [undefined, undefined, true],
    [null, null, true],
    [null, { allowPublicTraffic: true }, true],
    [undefined, { allowPublicTraffic: false }, false],
    ['token', undefined, false],
  ])('with the traffic token %j and the network %j is public: %j', (trafficAccessToken, network, isPublic) => {
    expect(sandboxResource({ sandboxID: id, trafficAccessToken, network })?.isPublic).toBe(isPublic);
  });
});
