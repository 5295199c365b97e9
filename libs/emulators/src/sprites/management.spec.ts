import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import type { SpritesEmulatorOptions } from './options.js';
import { SpritesEmulator } from './sprites-emulator.js';
import { PAGE_FAULTS } from './stream-faults.js';

let emulator: SpritesEmulator;

afterEach(async () => await emulator.close());

async function start(options: Partial<SpritesEmulatorOptions> = {}, ...names: string[]): Promise<void> {
  emulator = await SpritesEmulator.start(options);
  for (const name of names) await call('POST', '', { name });
}

async function call(method: string, path: string, body?: unknown): Promise<Response> {
  return await fetch(`${emulator.url}/v1/sprites${path}`, {
    method,
    headers: { authorization: `Bearer ${emulator.token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function answer(response: Promise<Response>): Promise<[number, unknown]> {
  const { status, ...rest } = { status: (await response).status, text: await (await response).text() };
  return [status, rest.text === '' ? undefined : (JSON.parse(rest.text) as unknown)];
}

/** The status that an upgrade got. */
async function upgraded(path: string, token = emulator.token): Promise<number> {
  const url = `${emulator.url.replace('http', 'ws')}/v1/sprites${path}`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
  return await new Promise((resolve) => {
    socket.on('error', () => {});
    socket.on('open', () => resolve(101));
    socket.on('unexpected-response', (_, { statusCode }) => resolve(statusCode ?? 0));
  });
}

interface Page {
  readonly sprites: { readonly name: string }[];
  readonly has_more: boolean;
  readonly next_continuation_token: string | null;
  readonly [counter: string]: unknown;
}

describe('authentication', () => {
  test.each([[undefined], ['Bearer wrong'], ['Basic x']])('%s is a 401', async (authorization) => {
    await start();
    const headers = new Headers(authorization === undefined ? [] : [['authorization', authorization]]);
    expect(await answer(fetch(`${emulator.url}/v1/sprites`, { headers }))).toEqual([
      401,
      { error: 'authentication failed' },
    ]);
  });

  test('an upgrade with the wrong token is a 401 before any effect', async () => {
    await start({}, 'a');
    expect(await upgraded('/a/exec?cmd=true', 'wrong')).toBe(401);
    expect(emulator.sprite('a')!.status).toBe('cold');
  });
});

describe('sprites', () => {
  test('are created with everything a resource has', async () => {
    await start();
    const body = { name: 'a', url_settings: { auth: 'public' }, wait_for_capacity: true, labels: ['x'] };
    const [status, resource] = await answer(call('POST', '', body));
    expect([status, resource]).toEqual([
      201,
      {
        id: expect.stringMatching(/^sprite-[0-9a-f-]{36}$/),
        name: 'a',
        organization: 'emulator',
        status: 'cold',
        url: expect.stringMatching(/^https:\/\/a-[0-9a-f]{5}\.sprites\.app$/),
        url_settings: { auth: 'public', private_access: 'admins' },
        created_at: expect.any(String),
        updated_at: expect.any(String),
        last_running_at: null,
        last_warming_at: null,
        labels: ['x'],
        primary_region: 'emu',
        version: '0.0.1-rc46',
      },
    ]);
    expect(await answer(call('GET', '/a'))).toEqual([200, resource]);
  });

  test('have an id of their own each time', async () => {
    await start({}, 'a');
    const { id } = emulator.sprite('a')!;
    await call('DELETE', '/a');
    await call('POST', '', { name: 'a' });
    expect(emulator.sprite('a')!.id).not.toBe(id);
  });

  test.each([[''], ['A'], ['1a'], ['a_b'], ['a-'], ['x'.repeat(64)], [7]])('the name %j is refused', async (name) => {
    await start();
    expect((await call('POST', '', { name })).status).toBe(400);
    expect(emulator.names).toEqual([]);
  });

  test('a name that is taken is refused', async () => {
    await start({}, 'a');
    expect(await answer(call('POST', '', { name: 'a' }))).toEqual([409, { error: 'sprite a already exists' }]);
  });

  test('settings are changed', async () => {
    await start({}, 'a');
    const [status, resource] = await answer(call('PUT', '/a', { url_settings: { auth: 'public' }, labels: ['y'] }));
    expect([status, resource]).toMatchObject([200, { url_settings: { auth: 'public' }, labels: ['y'] }]);
    expect((await call('PUT', '/a', { url_settings: { auth: 'all' } })).status).toBe(400);
  });

  test('after a delete everything is a 404, upgrades too', async () => {
    await start({}, 'a');
    expect((await call('DELETE', '/a')).status).toBe(204);
    const missing = [404, { error: 'sprite not found' }];
    expect(await answer(call('GET', '/a'))).toEqual(missing);
    expect(await answer(call('DELETE', '/a'))).toEqual(missing);
    expect(await answer(call('GET', '/a/fs/read?path=/x'))).toEqual(missing);
    expect(await answer(call('GET', '/a/policy/network'))).toEqual(missing);
    expect(await upgraded('/a/exec?cmd=true')).toBe(404);
  });

  test('calls that are not emulated are a 404', async () => {
    await start({}, 'a');
    expect([await upgraded('/a/control'), await upgraded('/a/proxy')]).toEqual([404, 404]);
    expect((await call('GET', '/a/services')).status).toBe(404);
  });

  test('a URL beyond 40 KB is a 414', async () => {
    await start({}, 'a');
    expect(await upgraded(`/a/exec?cmd=${'x'.repeat(41_000)}`)).toBe(414);
    expect((await call('GET', `?prefix=${'x'.repeat(41_000)}`)).status).toBe(414);
  });
});

describe('the listing', () => {
  async function page(query: string): Promise<Page> {
    return (await (await call('GET', query)).json()) as Page;
  }

  test('comes in pages of names in order, with both forms of the counters', async () => {
    await start({ pageSize: 2 }, 'c', 'a', 'b', 'x');
    const first = await page('');
    expect(first).toMatchObject({ has_more: true, cold: 4, running: 0, org: { cold: 4, name: 'emulator' } });
    const second = await page(`?continuation_token=${first.next_continuation_token}`);
    expect([first, second].map(({ sprites }) => sprites.map(({ name }) => name))).toEqual([
      ['a', 'b'],
      ['c', 'x'],
    ]);
    expect([second.has_more, second.next_continuation_token]).toEqual([false, null]);
  });

  test('is restricted to a prefix', async () => {
    await start({}, 'aa', 'ab', 'b');
    expect((await page('?prefix=a')).sprites.map(({ name }) => name)).toEqual(['aa', 'ab']);
  });

  test.each([
    ['repeatedToken', { has_more: true, next_continuation_token: 'YWZ0ZXI6', sprites: [expect.anything()] }],
    ['moreWithoutToken', { has_more: true, next_continuation_token: null, sprites: [expect.anything()] }],
    ['withoutSprites', { has_more: false, next_continuation_token: null }],
  ] as const)('can have %s', async (name, expected) => {
    await start({}, 'a');
    emulator.faults.add({ path: '/v1/sprites', rewrite: PAGE_FAULTS[name], times: 2 });
    const first = await page('');
    const again = await page(`?continuation_token=${first.next_continuation_token ?? ''}`);
    for (const seen of [first, again]) expect(seen).toMatchObject(expected);
    expect('sprites' in first).toBe('sprites' in expected);
  });

  test('refuses a token that it did not give', async () => {
    await start();
    expect((await call('GET', '?continuation_token=x')).status).toBe(400);
  });
});

describe('limits', () => {
  test('creates within a window', async () => {
    await start({ createLimit: { count: 2, windowMs: 60_000 } }, 'a', 'b');
    const response = await call('POST', '', { name: 'c' });
    expect(response.status).toBe(429);
    expect(await response.json()).toMatchObject({
      error: 'sprite_creation_rate_limited',
      limit: 2,
      window_seconds: 60,
      retry_after_seconds: expect.any(Number),
      current_count: 2,
    });
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(50);
    expect([response.headers.get('x-ratelimit-limit'), emulator.names]).toEqual(['2', ['a', 'b']]);
  });

  test('sprites that run at once are felt on the upgrade', async () => {
    await start({ runningLimit: 1 }, 'a', 'b');
    expect((await call('GET', '/a/exec')).status).toBe(200);
    expect(await upgraded('/b/exec?cmd=true')).toBe(429);
  });

  test('calls into a new sprite find it booting at first', async () => {
    await start({ bootRequests: 2 }, 'a');
    const statuses = [await upgraded('/a/exec?cmd=true')];
    statuses.push((await call('GET', '/a/policy/network')).status, (await call('GET', '/a/policy/network')).status);
    expect([statuses, (await call('GET', '/a')).status]).toEqual([[503, 503, 200], 200]);
  });
});

describe('faults', () => {
  test('a create that commits and answers 500 with a page', async () => {
    await start();
    emulator.faults.add({
      method: 'POST',
      path: '/v1/sprites',
      effect: 'applied',
      answer: { status: 500, html: '<p>' },
    });
    const response = await call('POST', '', { name: 'a' });
    expect([response.status, await response.text(), emulator.names]).toEqual([500, '<p>', ['a']]);
  });

  test('a delete that answers 500 and deletes', async () => {
    await start({}, 'a');
    emulator.faults.add({ method: 'DELETE', effect: 'applied', answer: { status: 500 } });
    expect([(await call('DELETE', '/a')).status, emulator.names]).toEqual([500, []]);
  });
});

describe('the public URL', () => {
  let target: Server;

  afterEach(() => void target.close());

  test('passes requests on, wakes the sprite and asks for a token unless it is public', async () => {
    target = createServer((request, response) => response.end(`you asked for ${request.url}`));
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    const { port } = target.address() as AddressInfo;
    await start({ publicUrl: { port: () => port } }, 'a');
    const { url } = (await (await call('GET', '/a')).json()) as { url: string };
    expect((await fetch(`${url}/x`)).status).toBe(401);
    expect(emulator.sprite('a')!.status).toBe('cold');
    await call('PUT', '/a', { url_settings: { auth: 'public' } });
    expect(await (await fetch(`${url}/x`)).text()).toBe('you asked for /x');
    expect(emulator.sprite('a')!.status).toBe('running');
  });
});
