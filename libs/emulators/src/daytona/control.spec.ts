import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { DaytonaEmulator } from './daytona-emulator.js';
import { SANDBOX_PAGE_FAULTS } from './faults.js';
import type { DaytonaEmulatorOptions } from './options.js';

let emulator: DaytonaEmulator;

afterEach(async () => {
  jest.restoreAllMocks();
  await emulator.close();
});

async function start(options: Partial<DaytonaEmulatorOptions> = {}): Promise<void> {
  emulator = await DaytonaEmulator.start(options);
}

async function call(method: string, path: string, body?: unknown, headers = {}): Promise<Response> {
  return await fetch(emulator.url + path, {
    method,
    headers: { authorization: `Bearer ${emulator.token}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

type Json = Record<string, unknown>;

/** Status and message of what is refused. */
async function refused(method: string, path: string, body?: unknown): Promise<[number, unknown]> {
  const response = await call(method, path, body);
  return [response.status, ((await response.json()) as Json)['message']];
}

async function json(method: string, path: string, body?: unknown): Promise<Json> {
  const response = await call(method, path, body);
  expect(response.status).toBe(200);
  return (await response.json()) as Json;
}

/** Makes a sandbox that runs. @returns its id */
async function made(name: string, body: Json = {}): Promise<string> {
  return (await json('POST', '/sandbox', { name, ...body }))['id'] as string;
}

async function names(query: string): Promise<string[]> {
  const { items } = (await json('GET', `/sandbox?${query}`)) as { items: { name: string }[] };
  return items.map(({ name }) => name);
}

/** Resolves when a sandbox has a state, which nothing tells. */
async function inState(idOrName: string, state: string | undefined): Promise<void> {
  while (emulator.sandbox(idOrName)?.state !== state) await new Promise((resolve) => setTimeout(resolve, 2));
}

const CONFLICT = [409, 'Sandbox state change in progress'];

describe('every call', () => {
  test('needs the API key', async () => {
    await start();
    const response = await call('GET', '/sandbox', undefined, { authorization: 'Bearer other' });
    expect([response.status, response.headers.get('x-daytona-api-version')]).toEqual([401, 'v0.214.0']);
    expect(await response.json()).toEqual({
      path: '/api/sandbox',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      statusCode: 401,
      error: 'Unauthorized',
      message: 'Invalid credentials',
    });
  });

  test('is told what is left of its counters', async () => {
    await start();
    const { headers } = await call('POST', '/sandbox', { name: 'a' });
    expect(headers.get('x-ratelimit-limit-authenticated')).toBe('10000');
    expect(headers.get('x-ratelimit-remaining-authenticated')).toBe('9999');
    expect(headers.get('x-ratelimit-remaining-sandbox-create')).toBe('299');
    expect(headers.get('x-ratelimit-reset-sandbox-create')).toBe('60');
  });

  test('is refused beyond a counter, which a time brings back', async () => {
    const now = jest.spyOn(performance, 'now').mockReturnValue(0);
    await start({ limits: { 'sandbox-create': { count: 1, windowMs: 1_000 } } });
    await made('a');
    now.mockReturnValue(1);
    const response = await call('POST', '/sandbox', { name: 'b' });
    expect([response.status, response.headers.get('retry-after-sandbox-create')]).toEqual([429, '1']);
    expect(await response.json()).toMatchObject({ statusCode: 429, message: 'Too Many Requests' });
    expect((await call('GET', '/sandbox/a')).status).toBe(200);
    now.mockReturnValue(1_000);
    expect((await call('POST', '/sandbox', { name: 'b' })).status).toBe(200);
  });

  test('on a path that nobody serves is not found below /api/ and the dashboard elsewhere', async () => {
    await start();
    expect(await refused('POST', '/none')).toEqual([404, 'Cannot POST /api/none']);
    const response = await fetch(new URL('/dashboard', emulator.url));
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  });
});

describe('a create', () => {
  test('answers with what there was before it waited', async () => {
    await start();
    const body = { name: 'a', env: { A: '1' }, labels: { b: 'c' }, autoStopInterval: 0, ttlMinutes: 0 };
    const sandbox = await json('POST', '/sandbox', body);
    expect(sandbox).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      organizationId: '6f1d3c7e-0000-4000-8000-000000000001',
      name: 'a',
      user: 'daytona',
      env: { A: '1' },
      labels: { b: 'c' },
      public: false,
      networkBlockAll: false,
      target: 'us',
      cpu: 1,
      gpu: 0,
      memory: 1,
      disk: 3,
      toolboxProxyUrl: emulator.url.replace('/api', '/toolbox'),
      state: 'creating',
      desiredState: 'started',
      sandboxClass: 'container',
      autoStopInterval: 0,
      autoArchiveInterval: 10_080,
      autoDeleteInterval: -1,
    });
    const byName = await json('GET', '/sandbox/a');
    expect([byName['id'], byName['state']]).toEqual([sandbox['id'], 'started']);
    expect((await json('GET', `/sandbox/${sandbox['id'] as string}`))['name']).toBe('a');
  });

  test('goes through its states', async () => {
    await start({ delaysMs: { build: Infinity, create: Infinity, start: Infinity }, serverWaitMs: 1 });
    const id = await made('a', { buildInfo: { dockerfileContent: 'FROM x' }, cpu: 4 });
    expect(emulator.sandbox(id)!.state).toBe('pending_build');
    expect(await refused('POST', `/sandbox/${id}/start`)).toEqual(CONFLICT);
    await emulator.finish(id);
    expect(emulator.sandbox(id)!.state).toBe('started');
    await made('b');
    expect(emulator.sandbox('b')!.state).toBe('creating');
  });

  test('names a sandbox after its id unless it has a name, which is its alone', async () => {
    await start();
    const { id, name } = await json('POST', '/sandbox', {});
    expect(name).toBe(id);
    await made('a');
    expect(await refused('POST', '/sandbox', { name: 'a' })).toEqual([409, 'Sandbox with name a already exists']);
  });

  test.each([
    [{ name: ['a'] }, 400, 'name must be a string'],
    [{ name: 'a\n' }, 400, 'name must not contain control characters'],
    [{ snapshot: 'none' }, 400, 'Snapshot none not found'],
    [{ snapshot: 'daytona-small', cpu: 1 }, 400, 'Cannot specify Sandbox resources when using a snapshot'],
    [{ snapshot: 'daytona-small', buildInfo: {} }, 400, 'Cannot specify build info when using a snapshot'],
    [{ cpu: 5 }, 400, 'cpu of 5 exceeds the maximum of 4 per sandbox'],
    [{ autoStopInterval: -1 }, 400, 'autoStopInterval must be a non-negative integer'],
    [{ labels: { a: 1 } }, 400, 'labels must be an object of strings'],
    [{ target: 'moon' }, 404, 'Region moon not found'],
    [{ domainAllowList: ['a.b'] }, 400, 'domainAllowList must be a string'],
  ])('refuses %j', async (body, status, message) => {
    await start();
    expect(await refused('POST', '/sandbox', body)).toEqual([status, message]);
    expect(emulator.names).toEqual([]);
  });

  test('from a snapshot has its size', async () => {
    await start();
    expect(await json('POST', '/sandbox', { snapshot: 'daytona-large' })).toMatchObject({
      cpu: 4,
      memory: 8,
      disk: 10,
    });
  });

  test('that fails says why, and leaves the sandbox in its error', async () => {
    await start();
    emulator.failNext('create', { state: 'build_failed', reason: 'no such image', recoverable: true });
    expect(await refused('POST', '/sandbox', { name: 'a' })).toEqual([400, 'Sandbox failed to start: no such image']);
    const shown = { state: 'build_failed', errorReason: 'no such image', recoverable: true };
    expect(await json('GET', '/sandbox/a')).toMatchObject(shown);
    expect(await refused('POST', '/sandbox/a/start')).toEqual([400, 'Sandbox is in an errored state']);
    expect(await refused('POST', '/sandbox/a/stop')).toEqual([400, 'Sandbox is in an errored state']);
    await json('POST', '/sandbox/a/recover');
    await inState('a', 'started');
    expect(await refused('POST', '/sandbox/a/recover')).toEqual([400, 'Sandbox is not recoverable']);
  });
});

describe('the state', () => {
  test('goes from started to stopped and back, and refuses what does not fit', async () => {
    await start({ delaysMs: { stop: Infinity } });
    await made('a');
    expect((await json('POST', '/sandbox/a/start'))['state']).toBe('started');
    expect(await refused('POST', '/sandbox/a/archive')).toEqual([400, 'Sandbox is not stopped']);
    expect(await json('POST', '/sandbox/a/stop')).toMatchObject({ state: 'stopping', desiredState: 'stopped' });
    for (const path of ['start', 'stop', 'archive'])
      expect(await refused('POST', `/sandbox/a/${path}`)).toEqual(CONFLICT);
    expect(await refused('DELETE', '/sandbox/a')).toEqual(CONFLICT);
    await emulator.finish('a');
    expect((await json('GET', '/sandbox/a'))['state']).toBe('stopped');
    expect(await refused('POST', '/sandbox/a/stop')).toEqual([400, 'Sandbox is not in a stoppable state']);
    expect((await json('POST', '/sandbox/a/start'))['state']).toBe('started');
  });

  test('goes to archived and through restoring', async () => {
    await start({ delaysMs: { restore: Infinity } });
    await made('a');
    await json('POST', '/sandbox/a/stop?force=true');
    await inState('a', 'stopped');
    expect((await json('POST', '/sandbox/a/archive'))['state']).toBe('archiving');
    await inState('a', 'archived');
    expect((await json('POST', '/sandbox/a/start'))['state']).toBe('restoring');
    await emulator.finish('a');
    expect((await json('GET', '/sandbox/a'))['state']).toBe('started');
  });

  test('is started again out of archiving', async () => {
    await start({ delaysMs: { archive: Infinity } });
    await made('a');
    await json('POST', '/sandbox/a/stop');
    await inState('a', 'stopped');
    await json('POST', '/sandbox/a/archive');
    expect((await json('POST', '/sandbox/a/start'))['state']).toBe('started');
  });

  test('of an ephemeral sandbox that is stopped is that it is destroyed', async () => {
    await start({ delaysMs: { destroy: Infinity } });
    const id = await made('a', { autoDeleteInterval: 0 });
    expect((await json('POST', '/sandbox/a/stop'))['state']).toBe('destroying');
    await emulator.finish(id);
    expect((await call('GET', `/sandbox/${id}`)).status).toBe(404);
  });

  test('ends in an error when a start or a stop fails', async () => {
    await start();
    await made('a');
    emulator.failNext('stop', { reason: 'runner lost' });
    await json('POST', '/sandbox/a/stop');
    await inState('a', 'error');
    expect(await json('GET', '/sandbox/a')).toMatchObject({ errorReason: 'runner lost', recoverable: false });
    await made('b');
    await json('POST', '/sandbox/b/stop');
    await inState('b', 'stopped');
    emulator.failNext('start', { reason: 'no room' });
    expect(await refused('POST', '/sandbox/b/start')).toEqual([400, 'Sandbox failed to start: no room']);
  });

  test.each(['pause', 'fork'])('of a container knows no %s', async (path) => {
    await start();
    await made('a');
    expect((await refused('POST', `/sandbox/a/${path}`))[0]).toBe(422);
  });

  test('changes by itself after the intervals', async () => {
    await start({ minuteMs: 40 });
    await made('a', { autoStopInterval: 1, autoArchiveInterval: 1 });
    await inState('a', 'stopped');
    await inState('a', 'archived');
    const id = await made('b', { ttlMinutes: 1, autoStopInterval: 0 });
    await inState(id, undefined);
    await made('c', { autoStopInterval: 0, autoDeleteInterval: 5 });
    await json('POST', '/sandbox/c/autostop/1');
    const { id: third } = emulator.sandbox('c')!;
    await json('POST', '/sandbox/c/autodelete/1');
    await inState(third, undefined);
    expect(emulator.names).toEqual(['a']);
  });

  test('does not change for want of activity while a call is open', async () => {
    await start({ minuteMs: 30 });
    const id = await made('a', { autoStopInterval: 0 });
    const response = fetch(`${emulator.url.replace('/api', '/toolbox')}/${id}/process/execute`, {
      method: 'POST',
      headers: { authorization: `Bearer ${emulator.token}` },
      body: JSON.stringify({ command: 'cd; touch began; until [ -e go ]; do sleep 0.01; done; sleep 0.3; echo done' }),
    });
    const { home } = emulator.sandbox(id)!;
    while (!existsSync(join(home, 'began'))) await new Promise((resolve) => setTimeout(resolve, 5));
    await json('POST', '/sandbox/a/autostop/1');
    writeFileSync(join(home, 'go'), '');
    expect(await (await response).json()).toEqual({ exitCode: 0, result: 'done\n' });
    await inState(id, 'stopped');
  });
});

describe('a delete', () => {
  test('is done some time after it was answered', async () => {
    await start({ delaysMs: { destroy: Infinity } });
    const id = await made('a');
    const { directory } = emulator.sandbox(id)!;
    expect(await json('DELETE', '/sandbox/a')).toMatchObject({ id, state: 'destroying', desiredState: 'destroyed' });
    expect((await json('GET', `/sandbox/${id}`))['state']).toBe('destroying');
    expect(await refused('DELETE', `/sandbox/${id}`)).toEqual(CONFLICT);
    await emulator.finish(id);
    const gone = [404, `Sandbox with ID or name ${id} not found`];
    expect(await refused('GET', `/sandbox/${id}`)).toEqual(gone);
    expect(await refused('DELETE', `/sandbox/${id}`)).toEqual(gone);
    expect(existsSync(directory)).toBe(false);
  });

  test('frees the name at once', async () => {
    await start({ delaysMs: { destroy: Infinity } });
    const first = await made('a');
    await json('DELETE', '/sandbox/a');
    expect((await call('GET', '/sandbox/a')).status).toBe(404);
    expect(await made('a')).not.toBe(first);
  });

  test('comes over a build that waits', async () => {
    await start({ delaysMs: { build: Infinity } });
    const id = await made('a', { buildInfo: {} });
    await json('DELETE', `/sandbox/${id}`);
    await inState(id, undefined);
    expect(emulator.names).toEqual([]);
  });

  test('that fails leaves what is not there and is only listed on request', async () => {
    await start();
    const id = await made('a');
    emulator.failNext('destroy', { reason: 'runner lost' });
    await json('DELETE', '/sandbox/a');
    await inState(id, undefined);
    expect((await call('GET', `/sandbox/${id}`)).status).toBe(404);
    expect(await names('')).toEqual([]);
    expect(await names('includeErroredDeleted=true')).toHaveLength(1);
  });
});

describe('the listing', () => {
  test('gives pages that a cursor leads through', async () => {
    await start({ pageSize: 2 });
    for (const name of ['c', 'a', 'b']) await made(name);
    const first = await json('GET', '/sandbox?sort=name&order=asc&limit=200');
    expect((first['items'] as Json[]).map(({ name }) => name)).toEqual(['a', 'b']);
    expect(JSON.parse(Buffer.from(first['nextCursor'] as string, 'base64').toString())).toEqual({
      sortValue: 'b',
      id: emulator.sandbox('b')!.id,
    });
    const cursor = encodeURIComponent(first['nextCursor'] as string);
    const second = await json('GET', `/sandbox?sort=name&order=asc&cursor=${cursor}`);
    expect((second['items'] as Json[]).map(({ name }) => name)).toEqual(['c']);
    expect(second['nextCursor']).toBeNull();
  });

  test('begins with what was active last', async () => {
    await start();
    for (const name of ['a', 'b', 'c']) await made(name);
    expect((await call('POST', '/sandbox/b/last-activity')).status).toBe(201);
    expect(await names('')).toEqual(['b', 'c', 'a']);
  });

  test('is filtered by labels, name, id and state', async () => {
    await start();
    await made('aa', { labels: { k: '1', l: '2' } });
    const id = await made('ab', { labels: { k: '1' } });
    await json('POST', '/sandbox/ab/stop');
    await inState('ab', 'stopped');
    expect(await names(`labels=${encodeURIComponent('{"k":"1"}')}&sort=name&order=asc`)).toEqual(['aa', 'ab']);
    expect(await names(`labels=${encodeURIComponent('{"k":"1","l":"2"}')}`)).toEqual(['aa']);
    expect(await names('name=AB')).toEqual(['ab']);
    expect(await names(`id=${id.slice(0, 8)}`)).toEqual(['ab']);
    expect(await names('states=stopped&states=archived')).toEqual(['ab']);
  });

  test('leaves out what only the sandbox itself tells', async () => {
    await start();
    await made('a', { env: { A: '1' } });
    const { items } = await json('GET', '/sandbox');
    expect((items as Json[])[0]).not.toHaveProperty('env');
    expect((items as Json[])[0]).toHaveProperty('toolboxProxyUrl');
  });

  test.each([
    ['limit=0', 'limit must not be less than 1'],
    ['limit=201', 'limit must not be greater than 200'],
    ['labels=x', 'Invalid labels JSON format'],
    ['cursor=x', 'Invalid cursor provided: it cannot be decoded'],
    ['order=up', 'order must be one of the following values: asc, desc'],
    ['sort=x', 'sort must be one of the following values: name, cpu, memoryGib, diskGib, lastActivityAt, createdAt'],
  ])('refuses %s', async (query, message) => {
    await start();
    expect(await refused('GET', `/sandbox?${query}`)).toEqual([400, message]);
  });

  test('lags behind by as much as it was told to', async () => {
    const now = jest.spyOn(performance, 'now').mockReturnValue(0);
    await start({ indexDelayMs: 200 });
    const id = await made('a');
    now.mockReturnValue(199);
    expect(await names('')).toEqual([]);
    now.mockReturnValue(200);
    expect(await names('')).toEqual(['a']);
    await json('DELETE', `/sandbox/${id}`);
    await inState(id, undefined);
    now.mockReturnValue(399);
    expect(await names('')).toEqual(['a']);
    now.mockReturnValue(400);
    expect(await names('')).toEqual([]);
  });

  test.each([
    ['repeatedCursor', { items: [expect.anything()], nextCursor: 'e30=' }],
    ['bareArray', [expect.anything()]],
    ['otherCursorName', { items: [expect.anything()], cursor: null }],
    ['withoutItems', { nextCursor: null }],
  ] as const)('can have %s', async (name, expected) => {
    await start();
    await made('a');
    emulator.faults.add({ path: '/api/sandbox', rewrite: SANDBOX_PAGE_FAULTS[name], times: 2 });
    expect(await (await call('GET', '/sandbox')).json()).toEqual(expected);
    expect(await (await call('GET', '/sandbox?cursor=e30%3D')).json()).toEqual(expected);
  });
});

describe('network settings', () => {
  const set = async (...bodies: Json[]) => {
    await start();
    await made('a');
    for (const body of bodies) expect((await call('POST', '/sandbox/a/network-settings', body)).status).toBe(200);
    const { networkBlockAll, networkAllowList, domainAllowList } = await json('GET', '/sandbox/a');
    return [networkBlockAll, networkAllowList, domainAllowList];
  };
  const cidr = '10.0.0.0/8';

  test.each<[string, Json[], unknown[]]>([
    [
      'block all but domains',
      [{ networkBlockAll: true, domainAllowList: 'a.b,*.c.d' }],
      [true, undefined, 'a.b,*.c.d'],
    ],
    ['block all with an empty list', [{ networkBlockAll: true, domainAllowList: '' }], [true, undefined, undefined]],
    ['end blocking by CIDRs', [{ networkBlockAll: true }, { networkAllowList: cidr }], [false, cidr, undefined]],
    ['clear CIDRs by blocking', [{ networkAllowList: cidr }, { networkBlockAll: true }], [true, undefined, undefined]],
    [
      'clear CIDRs by not blocking',
      [{ networkAllowList: cidr }, { networkBlockAll: false }],
      [false, undefined, undefined],
    ],
    ['clear a list', [{ domainAllowList: 'a.b' }, { domainAllowList: '' }], [false, undefined, undefined]],
  ])('%s', async (_, bodies, expected) => {
    expect(await set(...bodies)).toEqual(expected);
  });

  test.each([
    [{}, 'At least one network setting must be given'],
    [{ domainAllowList: ['a.b'] }, 'domainAllowList must be a string'],
    [{ networkBlockAll: 'yes' }, 'networkBlockAll must be a boolean value'],
    [{ networkAllowList: '10.0.0.0' }, 'networkAllowList has an invalid entry: 10.0.0.0'],
    [
      { networkAllowList: cidr, domainAllowList: 'a.b' },
      'networkAllowList and domainAllowList cannot be used together',
    ],
    [{ domainAllowList: 'a.b,'.repeat(10) + 'a.b' }, 'domainAllowList must have at most 10 entries'],
    [{ domainAllowList: '*' }, 'domainAllowList has an invalid entry: *'],
  ])('refuse %j', async (body, message) => {
    await start();
    await made('a');
    expect(await refused('POST', '/sandbox/a/network-settings', body)).toEqual([400, message]);
  });
});

describe('a preview', () => {
  test('has a token that the next start replaces', async () => {
    await start();
    const id = await made('a');
    const before = await json('GET', '/sandbox/a/ports/3000/preview-url');
    expect(before).toEqual({
      sandboxId: id,
      url: `https://3000-${id}.proxy.daytona.test`,
      token: expect.stringMatching(/^[a-z0-9]{32}$/),
    });
    expect((await json('GET', '/sandbox/a/ports/80/preview-url'))['token']).toBe(before['token']);
    const valid = async () => await (await call('GET', `/preview/${id}/validate/${before['token'] as string}`)).json();
    expect(await valid()).toBe(true);
    await json('POST', '/sandbox/a/stop');
    await inState('a', 'stopped');
    await json('POST', '/sandbox/a/start');
    expect(await valid()).toBe(false);
  });

  test('can be signed for a port and a time, and taken back', async () => {
    await start();
    const id = await made('a');
    const { port, token, url } = await json('GET', '/sandbox/a/ports/3000/signed-preview-url?expiresInSeconds=60');
    expect([port, token, url]).toEqual([
      3000,
      expect.stringMatching(/^[a-z0-9]{16}$/),
      `https://3000-${token as string}.proxy.daytona.test`,
    ]);
    const owner = async () => await call('GET', `/preview/${token as string}/3000/sandbox-id`);
    expect(await (await owner()).text()).toBe(id);
    const expire = `/sandbox/a/ports/3000/signed-preview-url/${token as string}/expire`;
    expect((await call('POST', expire)).status).toBe(200);
    expect((await owner()).status).toBe(404);
    expect((await call('POST', expire)).status).toBe(404);
  });

  test.each([
    ['0/preview-url', 'Invalid port'],
    ['65536/preview-url', 'Invalid port'],
    ['80/signed-preview-url?expiresInSeconds=0', 'expiresInSeconds must be from 1 to 86400'],
    ['80/signed-preview-url?expiresInSeconds=86401', 'expiresInSeconds must be from 1 to 86400'],
  ])('refuses %s', async (path, message) => {
    await start();
    await made('a');
    expect(await refused('GET', `/sandbox/a/ports/${path}`)).toEqual([400, message]);
  });

  test('of a public sandbox is public', async () => {
    await start();
    const id = await made('a');
    expect((await json('POST', '/sandbox/a/public/true'))['public']).toBe(true);
    expect(await (await call('GET', `/preview/${id}/public`)).json()).toBe(true);
  });
});

describe('a resize', () => {
  test('goes up while started, and both ways once stopped', async () => {
    await start({ delaysMs: { resize: Infinity } });
    await made('a');
    expect((await json('POST', '/sandbox/a/resize', { cpu: 2 }))['state']).toBe('resizing');
    expect(await refused('POST', '/sandbox/a/resize', { cpu: 3 })).toEqual(CONFLICT);
    await emulator.finish('a');
    expect(await json('GET', '/sandbox/a')).toMatchObject({ state: 'started', cpu: 2 });
    const refusedBy = async (body: Json) => (await refused('POST', '/sandbox/a/resize', body))[1];
    expect(await refusedBy({ cpu: 1 })).toBe('CPU and memory cannot be made smaller while started');
    expect(await refusedBy({ disk: 5 })).toBe('Disk cannot be resized while started');
    expect(await refusedBy({ disk: 2 })).toBe('Disk cannot be made smaller');
    expect(await refusedBy({ cpu: 2 })).toBe('No resource is changed');
    expect(await refusedBy({ cpu: 0 })).toBe('cpu must not be less than 1');
    await json('POST', '/sandbox/a/stop');
    await inState('a', 'stopped');
    await json('POST', '/sandbox/a/resize', { cpu: 1, disk: 5 });
    await emulator.finish('a');
    expect(await json('GET', '/sandbox/a')).toMatchObject({ state: 'stopped', cpu: 1, disk: 5 });
  });
});

describe('a snapshot', () => {
  const snapshotOf = async (name: string) => await json('GET', `/snapshots/${encodeURIComponent(name)}`);

  test('is taken while its sandbox goes on, and more are made of it', async () => {
    await start({ delaysMs: { snapshot: Infinity } });
    const id = await made('a');
    expect((await json('POST', '/sandbox/a/snapshot', { name: 'team/a:1' }))['state']).toBe('snapshotting');
    await emulator.finish('a');
    expect(emulator.sandbox('a')!.state).toBe('started');
    expect(await snapshotOf('team/a:1')).toMatchObject({
      state: 'active',
      mem: 1,
      sourceSandboxId: id,
      errorReason: null,
    });
    await made('b', { snapshot: 'team/a:1' });
  });

  test('that fails is silent: only the snapshot tells, and blocks its name', async () => {
    await start();
    await made('a');
    emulator.failNext('snapshot', { reason: 'registry down' });
    await json('POST', '/sandbox/a/snapshot', { name: 's' });
    await inState('a', 'started');
    expect(await snapshotOf('s')).toMatchObject({ state: 'error', errorReason: 'registry down' });
    expect(await refused('POST', '/sandbox/a/snapshot', { name: 's' })).toEqual([
      409,
      'Snapshot with name "s" already exists',
    ]);
    expect(await refused('POST', '/sandbox', { snapshot: 's' })).toEqual([400, 'Snapshot s is error']);
  });

  test('is deleted by its id alone, some time later', async () => {
    await start({ delaysMs: { removeSnapshot: 2_000 } });
    const { id } = await json('POST', '/snapshots', { name: 's', imageName: 'debian:12' });
    expect((await refused('DELETE', '/snapshots/s'))[0]).toBe(400);
    expect((await call('DELETE', `/snapshots/${id as string}`)).status).toBe(200);
    expect((await snapshotOf('s'))['state']).toBe('removing');
    while ((await call('GET', '/snapshots/s')).status !== 404);
    const { id: vendors } = await snapshotOf('daytona-small');
    expect((await refused('DELETE', `/snapshots/${vendors as string}`))[0]).toBe(403);
  });

  test('that is deleted before it was built is not there again once it would have been', async () => {
    await start({ delaysMs: { build: 400, removeSnapshot: Infinity } });
    const { id } = await json('POST', '/snapshots', { name: 's', imageName: 'debian:12' });
    await call('DELETE', `/snapshots/${id as string}`);
    await json('POST', '/snapshots', { name: 'later', imageName: 'debian:12' });
    while ((await snapshotOf('later'))['state'] !== 'active');
    expect((await snapshotOf('s'))['state']).toBe('removing');
  });

  test('cannot be used while it is inactive', async () => {
    await start();
    const { id } = await json('POST', '/snapshots', { name: 's', imageName: 'debian:12' });
    while ((await snapshotOf('s'))['state'] !== 'active');
    expect((await call('POST', `/snapshots/${id as string}/deactivate`)).status).toBe(204);
    expect(await refused('POST', '/sandbox', { snapshot: 's' })).toEqual([400, 'Snapshot s is inactive']);
    expect((await json('POST', `/snapshots/${id as string}/activate`))['state']).toBe('active');
  });

  test('is listed in pages, and found by a part of its name', async () => {
    await start();
    expect(await json('GET', '/snapshots?limit=2&page=2')).toMatchObject({ total: 3, page: 2, totalPages: 2 });
    const { items } = (await json('GET', '/snapshots?name=LARGE')) as { items: { name: string; mem: number }[] };
    expect(items).toMatchObject([{ name: 'daytona-large', mem: 8, general: true }]);
  });

  test.each([[{ name: 'a b' }], [{ name: 'a', includeMemory: true }]])('refuses %j', async (body) => {
    await start();
    await made('a');
    expect((await refused('POST', '/sandbox/a/snapshot', body))[0]).toBe(400);
  });
});

test('labels are replaced', async () => {
  await start();
  await made('a', { labels: { a: '1' } });
  expect(await json('PUT', '/sandbox/a/labels', { labels: { b: '2' } })).toEqual({ labels: { b: '2' } });
  expect((await json('GET', '/sandbox/a'))['labels']).toEqual({ b: '2' });
});

test('the toolbox URL can be asked for by id, not by name', async () => {
  await start();
  const id = await made('a');
  expect(await json('GET', `/sandbox/${id}/toolbox-proxy-url`)).toEqual({
    url: emulator.url.replace('/api', '/toolbox'),
  });
  expect((await refused('GET', '/sandbox/a/toolbox-proxy-url'))[0]).toBe(404);
});

test('a fault can hide how a create went', async () => {
  await start();
  emulator.faults.add({ method: 'POST', path: '/api/sandbox', reset: true, effect: 'applied' });
  await expect(call('POST', '/sandbox', { name: 'a' })).rejects.toThrow('fetch failed');
  expect(emulator.sandbox('a')!.state).toBe('started');
});

test('closing in the middle of everything leaves nothing', async () => {
  await start({ delaysMs: { stop: Infinity, create: Infinity } });
  await made('a', { buildInfo: {} });
  const waiting = call('POST', '/sandbox', { name: 'b' }).catch((error: unknown) => error);
  await inState('b', 'creating');
  const { directory } = emulator.sandbox('b')!;
  await emulator.close();
  await emulator.close();
  expect(await waiting).toMatchObject({ name: 'TypeError', message: 'fetch failed' });
  expect(existsSync(directory)).toBe(false);
});
