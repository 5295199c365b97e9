import { existsSync } from 'node:fs';
import { afterEach, describe, expect, test } from '@jest/globals';
import { E2bEmulator } from './e2b-emulator.js';
import { E2B_ANSWERS } from './faults.js';
import type { E2bEmulatorOptions } from './options.js';

let emulator: E2bEmulator;

afterEach(async () => await emulator.close());

async function start(options: Partial<E2bEmulatorOptions> = {}): Promise<void> {
  emulator = await E2bEmulator.start(options);
}

async function call(method: string, path: string, body?: unknown, headers = {}): Promise<Response> {
  return await fetch(emulator.url + path, {
    method,
    headers: { 'x-api-key': emulator.apiKey, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

type Json = Record<string, unknown>;

async function answer(response: Promise<Response>): Promise<[status: number, body: unknown]> {
  const answered = await response;
  const text = await answered.text();
  return [answered.status, text === '' ? undefined : (JSON.parse(text) as unknown)];
}

async function status(method: string, path: string, body?: unknown): Promise<number> {
  return (await answer(call(method, path, body)))[0];
}

async function json(path: string): Promise<Json> {
  return (await (await call('GET', path)).json()) as Json;
}

/** Makes a sandbox. @returns its id */
async function made(body: Json = {}): Promise<string> {
  const [, sandbox] = await answer(call('POST', '/v2/sandboxes', { templateID: 'base', ...body }));
  return (sandbox as Json)['sandboxID'] as string;
}

async function listed(query = ''): Promise<Json[]> {
  return (await (await call('GET', `/v2/sandboxes${query}`)).json()) as Json[];
}

function noSandbox(id: string): Json {
  return { code: 404, message: `Sandbox "${id}" doesn't exist or you don't have access to it` };
}

/** It was given so many seconds to live at some moment since then. */
async function expectLife(id: string, seconds: number, since: number): Promise<void> {
  const givenAt = Date.parse((await json(`/sandboxes/${id}`))['endAt'] as string) - seconds * 1000;
  expect(givenAt).toBeGreaterThanOrEqual(since);
  expect(givenAt).toBeLessThanOrEqual(Date.now());
}

/** Resolves when a sandbox has a state, which nothing tells. */
async function inState(id: string, state: string | undefined): Promise<void> {
  while (emulator.sandbox(id)?.state !== state) await new Promise((resolve) => setImmediate(resolve));
}

describe('authentication', () => {
  test.each([
    [undefined, 'authorization header is missing'],
    ['e2b_wrong', 'Cannot get the team for the given API key: invalid API key format or no such team'],
  ])('with the key %s there is a 401 with a numeric code', async (key, message) => {
    await start();
    const headers = new Headers(key === undefined ? [] : [['x-api-key', key]]);
    expect(await answer(fetch(`${emulator.url}/v2/sandboxes`, { headers }))).toEqual([401, { code: 401, message }]);
  });

  test('the key is recorded nowhere', async () => {
    await start();
    await listed();
    expect(JSON.stringify(emulator.calls.all)).not.toContain(emulator.apiKey);
    expect(emulator.calls.all[0]!.credential).toBe(true);
  });
});

describe('create', () => {
  test('version 2 is always secured and lives 300 s', async () => {
    await start();
    const since = Date.now();
    const [code, sandbox] = await answer(call('POST', '/v2/sandboxes', { templateID: 'base', metadata: { a: '1' } }));
    expect([code, sandbox]).toEqual([
      201,
      {
        templateID: expect.stringMatching(/^[0-9a-f]{20}$/),
        alias: 'base',
        sandboxID: expect.stringMatching(/^i[a-z0-9]{20}$/),
        clientID: '6532622b',
        envdVersion: '0.6.10',
        envdAccessToken: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ]);
    await expectLife((sandbox as Json)['sandboxID'] as string, 300, since);
  });

  test('version 1 is open unless asked and lives 15 s', async () => {
    await start();
    const create = async (more: Json) => {
      return (await answer(call('POST', '/sandboxes', { templateID: 'base', ...more })))[1] as Json;
    };
    const since = Date.now();
    const open = await create({});
    expect(open['envdAccessToken']).toBeUndefined();
    await expectLife(open['sandboxID'] as string, 15, since);
    expect((await create({ secure: true }))['envdAccessToken']).toEqual(expect.any(String));
  });

  test.each([
    [{}, 400, 'validation error: property "templateID" is missing'],
    [{ templateID: 'base', timeout: 0 }, 400, 'Timeout must be greater than 0'],
    [{ templateID: 'base', timeout: 90_000 }, 400, 'Timeout cannot be greater than 24 hours'],
    [{ templateID: 'base', timeout: '9' }, 400, 'validation error: value of "timeout" must be an integer'],
    [{ templateID: 'base', metadata: { a: 1 } }, 400, 'validation error: value of "metadata" must be a map of strings'],
    [
      { templateID: 'base', autoPauseMemory: false },
      400,
      'autoPauseMemory false needs autoPause and excludes autoResume',
    ],
    [{ templateID: 'none' }, 404, "template 'none' not found"],
  ])('%j is refused', async (body, code, message) => {
    await start();
    expect(await answer(call('POST', '/v2/sandboxes', body))).toEqual([code, { code, message }]);
    expect(emulator.ids).toEqual([]);
  });

  test('a body that does not say it is JSON is refused', async () => {
    await start();
    const response = call('POST', '/v2/sandboxes', { templateID: 'base' }, { 'content-type': 'text/plain' });
    expect((await answer(response))[0]).toBe(400);
  });

  test('beyond the limit it is a 429 that does not say when to come again', async () => {
    await start({ sandboxLimit: 1 });
    const id = await made();
    const refused = await call('POST', '/v2/sandboxes', { templateID: 'base' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, null]);
    await call('POST', `/sandboxes/${id}/pause`);
    await made();
    expect(await status('POST', `/v2/sandboxes/${id}/connect`, {})).toBe(429);
  });

  test('an answer that is lost leaves a sandbox, found by its metadata', async () => {
    await start();
    emulator.faults.add({ method: 'POST', path: '/v2/sandboxes', reset: true, effect: 'applied' });
    await expect(made({ metadata: { nonce: 'n1' } })).rejects.toThrow('fetch failed');
    expect((await listed('?metadata=nonce%3Dn1')).map(({ sandboxID }) => sandboxID)).toEqual(emulator.ids);
    expect(emulator.ids).toHaveLength(1);
  });
});

describe('get', () => {
  test('tells all of a sandbox, and null for the domain of a paused one', async () => {
    await start({ domain: 'example.test' });
    const id = await made({ autoPause: true, metadata: { a: '1' }, network: { denyOut: ['0.0.0.0/0'] } });
    const details = await json(`/sandboxes/${id}`);
    expect(details).toEqual({
      templateID: expect.any(String),
      alias: 'base',
      sandboxID: id,
      clientID: '6532622b',
      startedAt: expect.any(String),
      endAt: expect.any(String),
      envdVersion: '0.6.10',
      envdAccessToken: expect.any(String),
      domain: 'example.test',
      cpuCount: 2,
      memoryMB: 512,
      diskSizeMB: 1024,
      metadata: { a: '1' },
      state: 'running',
      network: { denyOut: ['0.0.0.0/0'] },
      lifecycle: { autoResume: false, onTimeout: 'pause' },
    });
    await call('POST', `/sandboxes/${id}/pause`);
    const paused = await json(`/sandboxes/${id}`);
    expect([paused['state'], paused['domain'], paused['envdAccessToken']]).toEqual([
      'paused',
      null,
      details['envdAccessToken'],
    ]);
  });

  test('takes an id with the client id behind it, and refuses other forms', async () => {
    await start();
    const id = await made();
    expect(await status('GET', `/sandboxes/${id}-6532622b`)).toBe(200);
    const refused = [400, { code: 400, message: 'Invalid sandbox ID' }];
    expect(await answer(call('GET', '/sandboxes/a-b-c'))).toEqual(refused);
    expect(await answer(call('GET', '/sandboxes/A_b'))).toEqual(refused);
    expect(await answer(call('GET', '/sandboxes/inone'))).toEqual([404, noSandbox('inone')]);
  });

  test('a path that there is not is a 404', async () => {
    await start();
    expect(await status('GET', '/v3/sandboxes')).toBe(404);
  });
});

describe('list', () => {
  test('filters by metadata that was escaped twice within the query', async () => {
    await start();
    const id = await made({ metadata: { name: 'a=b&c d', other: '1' } });
    await made({ metadata: { name: 'a' } });
    const found = await listed('?metadata=name%3Da%25253Db%252526c%252520d');
    expect(found.map(({ sandboxID }) => sandboxID)).toEqual([id]);
    expect(await listed('?metadata=name%3Da%25253Db%252526c%252520d%26other%3D2')).toEqual([]);
  });

  test('takes a plus for a blank', async () => {
    await start();
    await made({ metadata: { name: 'a+b' } });
    expect(await listed('?metadata=name%3Da%2Bb')).toEqual([]);
    expect(await listed('?metadata=name%3Da%25252Bb')).toHaveLength(1);
  });

  test.each(['name', 'a%3Db%3Dc', 'a%3Db%26'])(
    'a filter %s without exactly one = in each piece is a 400',
    async (filter) => {
      await start();
      expect(await status('GET', `/v2/sandboxes?metadata=${filter}`)).toBe(400);
    },
  );

  test.each([
    ['', ['c', 'b', 'a']],
    ['&order=asc', ['a', 'b', 'c']],
  ])('gives pages by an opaque token, and none behind the last%s', async (order, names) => {
    await start();
    for (const name of ['a', 'b', 'c']) {
      await made({ metadata: { name } });
      // Ids order what began in the same millisecond.
      for (const now = Date.now(); Date.now() === now;) continue;
    }
    const seen: unknown[] = [];
    let token: string | null = '';
    while (token !== null) {
      const response = await call('GET', `/v2/sandboxes?limit=2${order}${token && `&nextToken=${token}`}`);
      seen.push(...((await response.json()) as Json[]).map(({ metadata }) => (metadata as Json)['name']));
      token = response.headers.get('x-next-token');
    }
    expect(seen).toEqual(names);
    expect(emulator.calls.matching({ path: '/v2/sandboxes', method: 'GET' })).toHaveLength(2);
  });

  test.each([
    ['limit=0', 'validation error: "limit" must be between 1 and 100'],
    ['limit=101', 'validation error: "limit" must be between 1 and 100'],
    ['nextToken=garbage', 'Invalid next token'],
    ['state=stopped', 'validation error: "state" has no value stopped'],
    ['startedAfter=x', 'Invalid startedAfter'],
  ])('%s is refused', async (query, message) => {
    await start();
    expect(await answer(call('GET', `/v2/sandboxes?${query}`))).toEqual([400, { code: 400, message }]);
  });

  test('a resume moves a sandbox to the front', async () => {
    await start();
    const [first, second] = [await made(), await made()];
    await call('POST', `/sandboxes/${first}/pause`);
    await call('POST', `/v2/sandboxes/${first}/connect`, {});
    expect((await listed()).map(({ sandboxID }) => sandboxID)).toEqual([first, second]);
  });

  test('tells no token, no network and no life cycle, and counts those that run when they are asked for', async () => {
    await start();
    const [paused] = [await made(), await made()];
    await call('POST', `/sandboxes/${paused}/pause`);
    const all = await call('GET', '/v2/sandboxes');
    expect(all.headers.get('x-total-running')).toBeNull();
    expect(Object.keys(((await all.json()) as Json[])[0]!)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/envdAccessToken|network|lifecycle/)]),
    );
    const running = await call('GET', '/v2/sandboxes?state=running');
    expect([running.headers.get('x-total-running'), ((await running.json()) as Json[]).length]).toEqual(['1', 1]);
    expect(await listed('?state=paused')).toHaveLength(1);
    expect(await json('/sandboxes')).toHaveLength(1);
  });
});

describe('time to live', () => {
  test('a timeout may shorten and is bounded by the longest run', async () => {
    await start({ maxLengthSeconds: 600 });
    const since = Date.now();
    const id = await made();
    expect(await status('POST', `/sandboxes/${id}/timeout`, { timeout: 20 })).toBe(204);
    await expectLife(id, 20, since);
    expect(await status('POST', `/sandboxes/${id}/timeout`, { timeout: 7_200 })).toBe(204);
    await expectLife(id, 600, since);
  });

  test('connect and refresh only extend', async () => {
    await start();
    const since = Date.now();
    const id = await made({ timeout: 100 });
    expect(await status('POST', `/v2/sandboxes/${id}/connect`, { timeout: 20 })).toBe(200);
    expect(await status('POST', `/sandboxes/${id}/refreshes`, { duration: 1 })).toBe(204);
    await expectLife(id, 100, since);
    await call('POST', `/v2/sandboxes/${id}/connect`, { timeout: 200 });
    await expectLife(id, 200, since);
    await call('POST', `/sandboxes/${id}/refreshes`, { duration: 3600 });
    await expectLife(id, 3600, since);
  });

  test('0 means at once: killed, files and all', async () => {
    await start();
    const id = await made();
    const { directory } = emulator.sandbox(id)!;
    expect(await status('POST', `/sandboxes/${id}/timeout`, { timeout: 0 })).toBe(204);
    await inState(id, undefined);
    expect(await answer(call('GET', `/sandboxes/${id}`))).toEqual([404, noSandbox(id)]);
    expect(existsSync(directory)).toBe(false);
  });

  test('or paused, when the create asked for that', async () => {
    await start();
    const id = await made({ autoPause: true });
    await call('POST', `/sandboxes/${id}/timeout`, { timeout: 0 });
    await inState(id, 'paused');
    expect((await json(`/sandboxes/${id}`))['state']).toBe('paused');
  });

  test('at the end of the longest run it is paused, and a resume begins a new one', async () => {
    await start({ maxLengthSeconds: 1 });
    const id = await made({ autoPause: true, timeout: 1 });
    await emulator.expire(id);
    expect(await status('POST', `/v2/sandboxes/${id}/connect`, { timeout: 1 })).toBe(201);
    const { endAt } = await json(`/sandboxes/${id}`);
    expect(Date.parse(endAt as string)).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  test.each(['timeout', 'refreshes'])('%s of one that is paused is the 404 of one that is not there', async (what) => {
    await start();
    const id = await made();
    await call('POST', `/sandboxes/${id}/pause`);
    const body = { timeout: 60, duration: 60 };
    expect(await answer(call('POST', `/sandboxes/${id}/${what}`, body))).toEqual([404, noSandbox(id)]);
  });
});

describe('pause, connect and kill', () => {
  test('a second pause is a 409, and one at the same time joins the first', async () => {
    await start({ delayMs: { pause: Infinity } });
    const id = await made();
    const both = [status('POST', `/sandboxes/${id}/pause`, {}), status('POST', `/sandboxes/${id}/pause`)];
    await emulator.calls.arrived({ path: `/sandboxes/${id}/pause` }, 2);
    // What is answered now came after both.
    await json(`/sandboxes/${id}`);
    await emulator.finish(id);
    expect(await Promise.all(both)).toEqual([204, 204]);
    expect(await answer(call('POST', `/sandboxes/${id}/pause`))).toEqual([
      409,
      { code: 409, message: `Sandbox ${id} is already paused` },
    ]);
    expect(await status('POST', '/sandboxes/inone/pause')).toBe(404);
  });

  test('a connect of a paused one is a 201 with the same token and a new start', async () => {
    await start();
    const id = await made();
    const before = await json(`/sandboxes/${id}`);
    await call('POST', `/sandboxes/${id}/pause`);
    const [code, sandbox] = await answer(call('POST', `/v2/sandboxes/${id}/connect`));
    expect([code, (sandbox as Json)['envdAccessToken']]).toEqual([201, before['envdAccessToken']]);
    const after = await json(`/sandboxes/${id}`);
    expect(Date.parse(after['startedAt'] as string)).toBeGreaterThan(Date.parse(before['startedAt'] as string));
    await expectLife(id, 300, Date.parse(after['startedAt'] as string));
  });

  test('version 1 of connect needs a timeout', async () => {
    await start();
    const id = await made();
    expect(await status('POST', `/sandboxes/${id}/connect`, {})).toBe(400);
    expect(await status('POST', `/sandboxes/${id}/connect`, { timeout: 10 })).toBe(200);
    expect(await status('POST', '/sandboxes/inone/connect', { timeout: 10 })).toBe(404);
  });

  test('the old resume is a 201, and a 409 for one that runs', async () => {
    await start();
    const id = await made();
    expect(await status('POST', `/sandboxes/${id}/resume`, {})).toBe(409);
    await call('POST', `/sandboxes/${id}/pause`);
    expect(await status('POST', `/sandboxes/${id}/resume`, { timeout: 60 })).toBe(201);
  });

  test('a connect waits for a pause that is under way', async () => {
    await start({ delayMs: { pause: Infinity } });
    const id = await made();
    const paused = status('POST', `/sandboxes/${id}/pause`);
    await inState(id, 'pausing');
    expect((await json(`/sandboxes/${id}`))['state']).toBe('paused');
    const connected = status('POST', `/v2/sandboxes/${id}/connect`, {});
    await emulator.calls.arrived({ path: `/v2/sandboxes/${id}/connect` });
    expect((await json(`/sandboxes/${id}`))['state']).toBe('paused');
    await emulator.finish(id);
    expect(await Promise.all([connected, paused])).toEqual([201, 204]);
  });

  test('while a sandbox changes its state, a timeout is a 409, and its kill makes it a 404', async () => {
    await start({ delayMs: { pause: Infinity, kill: Infinity } });
    const id = await made();
    const paused = status('POST', `/sandboxes/${id}/pause`);
    await inState(id, 'pausing');
    expect(await answer(call('POST', `/sandboxes/${id}/timeout`, { timeout: 9 }))).toEqual([
      409,
      { code: 409, message: 'Sandbox is pausing, please try again later' },
    ]);
    await emulator.finish(id);
    await paused;
    const killed = status('DELETE', `/sandboxes/${id}`);
    await inState(id, 'killing');
    expect([await status('GET', `/sandboxes/${id}`), (await listed()).length]).toEqual([404, 0]);
    expect(await status('POST', `/v2/sandboxes/${id}/connect`, {})).toBe(409);
    await emulator.finish(id);
    expect(await killed).toBe(204);
  });

  test('a kill also ends a paused one, and a second one is a 404', async () => {
    await start();
    const id = await made();
    await call('POST', `/sandboxes/${id}/pause`);
    expect(await status('DELETE', `/sandboxes/${id}`)).toBe(204);
    expect(await answer(call('DELETE', `/sandboxes/${id}`))).toEqual([404, noSandbox(id)]);
  });

  test('a pause that breaks is a 500, and the sandbox is lost', async () => {
    await start();
    const id = await made();
    emulator.breakNextPause(id);
    expect(await answer(call('POST', `/sandboxes/${id}/pause`))).toEqual([
      500,
      { code: 500, message: 'Error pausing sandbox' },
    ]);
    expect(await status('GET', `/sandboxes/${id}`)).toBe(404);
  });

  test('a busy node is a 503, and the sandbox runs on', async () => {
    await start();
    const id = await made();
    emulator.faults.add({ method: 'POST', path: '/sandboxes/:id/pause', answer: E2B_ANSWERS.busy });
    expect(await status('POST', `/sandboxes/${id}/pause`)).toBe(503);
    expect((await json(`/sandboxes/${id}`))['state']).toBe('running');
    expect(await status('POST', `/sandboxes/${id}/pause`)).toBe(204);
  });
});

describe('network', () => {
  test('is replaced as a whole and outlives a pause', async () => {
    await start();
    const id = await made({ network: { denyOut: ['0.0.0.0/0'], allowOut: ['example.com', '1.1.1.1'] } });
    const policy = { denyOut: ['0.0.0.0/0'], allowOut: ['*.example.org'] };
    expect(await status('PUT', `/sandboxes/${id}/network`, policy)).toBe(204);
    await call('POST', `/sandboxes/${id}/pause`);
    expect(await answer(call('PUT', `/sandboxes/${id}/network`, {}))).toEqual([404, noSandbox(id)]);
    await call('POST', `/v2/sandboxes/${id}/connect`);
    expect((await json(`/sandboxes/${id}`))['network']).toEqual(policy);
    await call('PUT', `/sandboxes/${id}/network`, { allow_internet_access: true });
    const open = await json(`/sandboxes/${id}`);
    expect([open['network'], open['allowInternetAccess']]).toEqual([{}, true]);
  });

  test.each([
    [{ allowOut: ['example.com'] }, 'allowing domains needs 0.0.0.0/0 in denyOut'],
    [{ allowOut: ['example.com'], denyOut: ['10.0.0.0/8'] }, 'allowing domains needs 0.0.0.0/0 in denyOut'],
    [{ denyOut: ['example.com'] }, 'invalid denied CIDR example.com'],
    [{ denyOut: ['1.2.3.4/33'] }, 'invalid denied CIDR 1.2.3.4/33'],
    [{ denyOut: ['0.0.0.0/0'], allowOut: ['not a name'] }, 'invalid allowed entry not a name'],
    [{ allowOut: 'x' }, 'validation error: allowOut must be an array of strings'],
  ])('%j is refused, and nothing changes', async (policy, message) => {
    await start();
    const id = await made({ network: { denyOut: ['10.0.0.0/8'] } });
    expect(await answer(call('PUT', `/sandboxes/${id}/network`, policy))).toEqual([400, { code: 400, message }]);
    expect(emulator.sandbox(id)!.network).toEqual({ denyOut: ['10.0.0.0/8'] });
  });

  test('a field of the create body that nobody knows leaves the sandbox open', async () => {
    await start();
    const id = await made({ allowInternetAccess: false });
    expect(emulator.sandbox(id)!.allowInternetAccess).toBeUndefined();
    expect(emulator.sandbox(await made({ allow_internet_access: false }))!.allowInternetAccess).toBe(false);
  });
});

describe('snapshots', () => {
  test('are listed, created from without the metadata, and deleted', async () => {
    await start();
    const id = await made({ metadata: { a: '1' } });
    const [code, snapshot] = await answer(call('POST', `/sandboxes/${id}/snapshots`, { name: 'mine' }));
    const snapshotID = (snapshot as Json)['snapshotID'] as string;
    expect([code, snapshotID]).toEqual([201, expect.stringMatching(/^emulator\/mine:[0-9a-f]{8}$/)]);
    expect(await json(`/snapshots?sandboxID=${id}`)).toEqual([{ snapshotID, names: ['emulator/mine'] }]);
    expect(await json('/snapshots?sandboxID=other')).toEqual([]);
    const [, restored] = await answer(call('POST', '/v2/sandboxes', { templateID: snapshotID }));
    const { sandboxID, templateID } = restored as Json;
    expect([sandboxID === id, templateID]).toEqual([false, snapshotID]);
    expect(emulator.sandbox(sandboxID as string)!.metadata).toEqual({});
    expect(await status('DELETE', `/templates/${encodeURIComponent(snapshotID)}`)).toBe(204);
    expect(await status('POST', '/v2/sandboxes', { templateID: snapshotID })).toBe(404);
  });

  test('of one that is paused are a 404, and of an old envd a 400', async () => {
    await start({ envdVersion: '0.4.9' });
    const id = await made();
    expect(await status('POST', `/sandboxes/${id}/snapshots`, {})).toBe(400);
    await call('POST', `/sandboxes/${id}/pause`);
    expect(await status('POST', `/sandboxes/${id}/snapshots`, {})).toBe(404);
  });

  test('a fork makes as many as asked for', async () => {
    await start();
    const id = await made();
    const [code, forks] = await answer(call('POST', `/sandboxes/${id}/fork`, { count: 2, timeout: 60 }));
    const made2 = (forks as { sandbox: Json }[]).map(({ sandbox }) => sandbox['sandboxID']);
    expect([code, emulator.ids]).toEqual([201, [id, ...made2]]);
    expect(await status('POST', `/sandboxes/${id}/fork`, { count: 101 })).toBe(400);
  });
});

describe('answers of others', () => {
  test('a time to live that cannot be longer', async () => {
    await start();
    const id = await made();
    emulator.faults.add({ path: '/sandboxes/:id/timeout', answer: E2B_ANSWERS.maxLength });
    expect(await answer(call('POST', `/sandboxes/${id}/timeout`, { timeout: 60 }))).toEqual([
      400,
      { code: 400, message: 'Max instance length exceeded' },
    ]);
  });

  test.each([
    ['with a time', E2B_ANSWERS.rateLimited(1), '1'],
    ['without', E2B_ANSWERS.rateLimited(), null],
  ])('too many requests, %s', async (_, fault, retryAfter) => {
    await start();
    emulator.faults.add({ answer: fault });
    const refused = await call('GET', '/v2/sandboxes');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, retryAfter]);
    expect(await listed()).toEqual([]);
  });

  test('a gateway that says so in HTML', async () => {
    await start();
    emulator.faults.add({ answer: E2B_ANSWERS.gatewayTimeout });
    const refused = await call('GET', '/v2/sandboxes');
    expect([refused.status, await refused.text()]).toEqual([504, '<html><body>upstream request timeout</body></html>']);
  });
});
