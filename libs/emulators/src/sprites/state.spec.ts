import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { processTable } from '#libs/process';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import type { SpritesEmulatorOptions } from './options.js';
import { SpritesEmulator } from './sprites-emulator.js';
import { LINE_FAULTS } from './stream-faults.js';

let emulator: SpritesEmulator;

afterEach(async () => await emulator.close());

async function start(options: Partial<SpritesEmulatorOptions> = {}): Promise<void> {
  emulator = await SpritesEmulator.start(options);
  for (const name of ['a', 'b']) await call('POST', '', { name });
}

async function call(method: string, path: string, body?: unknown, headers = {}): Promise<Response> {
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  return await fetch(`${emulator.url}/v1/sprites${path}`, {
    method,
    headers: { authorization: `Bearer ${emulator.token}`, ...headers },
    ...(body !== undefined && { body: raw ? body : JSON.stringify(body) }),
  });
}

async function json(response: Promise<Response>): Promise<unknown> {
  return await (await response).json();
}

async function lines(response: Promise<Response>): Promise<Record<string, unknown>[]> {
  const text = await (await response).text();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function connect(path: string): WebSocket {
  const url = `${emulator.url.replace('http', 'ws')}/v1/sprites${path}`;
  return new WebSocket(url, { headers: { authorization: `Bearer ${emulator.token}` } });
}

/** A command that runs until it is ended, by the id of its session. */
async function running(script = 'sleep 100'): Promise<{ socket: WebSocket; id: string; closed: Promise<number> }> {
  const query = new URLSearchParams([
    ['cmd', 'sh'],
    ['cmd', '-c'],
    ['cmd', script],
  ]).toString();
  const socket = connect(`/a/exec?${query}&detachable=true`);
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  const id = await new Promise<string>((resolve) => {
    socket.once('message', (data: Buffer) => {
      resolve((JSON.parse(data.toString()) as { session_id: string }).session_id);
    });
  });
  return { socket, id, closed };
}

async function turned(status: string): Promise<void> {
  while (emulator.sprite('a')!.status !== status) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** The state letter of a process: T is stopped. */
function stateOf(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.[0];
  } catch {
    return undefined;
  }
}

describe('files', () => {
  test('keep every byte and a mode', async () => {
    await start();
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    expect(await json(call('PUT', '/a/fs/write?path=/home/sprite/d/f&mode=0600&workingDir=/', bytes))).toEqual({
      path: '/home/sprite/d/f',
      size: 256,
      mode: '0600',
    });
    const response = await call('GET', '/a/fs/read?path=/home/sprite/d/f');
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
    expect(existsSync(join(emulator.sprite('a')!.home, 'd/f'))).toBe(true);
  });

  test('are those of their sprite alone', async () => {
    await start();
    await call('PUT', '/a/fs/write?path=/tmp/f', 'text');
    expect((await call('GET', '/b/fs/read?path=/tmp/f')).status).toBe(404);
    expect((await call('GET', '/a/fs/read?path=/etc/passwd')).status).toBe(404);
  });

  test('are listed with what is known of them', async () => {
    await start();
    await call('PUT', '/a/fs/write?path=/x/f', 'text');
    await call('PUT', '/a/fs/write?path=/x/d/g', '');
    symlinkSync('/etc', join(emulator.sprite('a')!.directory, 'x/link'));
    const entry = { mode: expect.stringMatching(/^\d{4}$/), modTime: expect.any(String) };
    expect(await json(call('GET', '/a/fs/list?path=x&workingDir=/'))).toEqual({
      path: '/x',
      count: 3,
      entries: [
        { ...entry, name: 'd', path: '/x/d', type: 'directory', size: expect.any(Number), isDir: true },
        { ...entry, name: 'f', path: '/x/f', type: 'file', size: 4, mode: '0644', isDir: false },
        { ...entry, name: 'link', path: '/x/link', type: 'symlink', size: 4, isDir: false },
      ],
    });
    const all = (await json(call('GET', '/a/fs/list?path=/x&recursive=true&pattern=?'))) as {
      entries: { path: string }[];
    };
    expect(all.entries.map(({ path }) => path)).toEqual(['/x/d', '/x/f', '/x/d/g']);
  });

  test.each([
    ['GET', '/fs/read?path=/none', 404, 'ENOENT'],
    ['GET', '/fs/read?path=/home', 400, 'EISDIR'],
    ['GET', '/fs/read?path=/f/x', 400, 'ENOTDIR'],
    ['PUT', '/fs/write?path=/f&mode=999', 400, 'EINVAL'],
    ['DELETE', '/fs/delete?path=/home', 400, 'ENOTEMPTY'],
    ['DELETE', '/fs/delete?path=/&recursive=true', 400, 'EPERM'],
    ['GET', '/fs/list?path=/none', 404, 'ENOENT'],
    ['GET', '/fs/read?path=/out/passwd', 404, 'ENOENT'],
  ])('%s %s is a %d with %s', async (method, path, status, code) => {
    await start();
    await call('PUT', '/a/fs/write?path=/f', '');
    symlinkSync('/etc', join(emulator.sprite('a')!.directory, 'out'));
    const response = await call(method, `/a${path}`);
    expect([response.status, await response.json()]).toMatchObject([status, { code, path: expect.any(String) }]);
  });

  test('are moved, copied, changed and deleted', async () => {
    await start();
    await call('PUT', '/a/fs/write?path=/f', 'text');
    const [copy, moved] = [
      { source: '/f', dest: '/g' },
      { source: '/g', dest: '/h' },
    ];
    expect(await json(call('POST', '/a/fs/copy', copy))).toEqual({ copied: [copy], count: 1, totalBytes: 4 });
    expect(await json(call('POST', '/a/fs/rename', moved))).toEqual(moved);
    expect(await json(call('POST', '/a/fs/chmod', { path: '/h', mode: '0400' }))).toEqual({
      affected: [{ path: '/h', mode: '0400' }],
      count: 1,
    });
    expect(await json(call('DELETE', '/a/fs/delete', { path: '/h' }))).toEqual({ deleted: ['/h'], count: 1 });
    const { entries } = (await json(call('GET', '/a/fs/list?path=/'))) as { entries: { name: string }[] };
    expect(entries.map(({ name }) => name)).toEqual(['f', 'home', 'tmp']);
  });

  test.each([
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=8-', 206, '89', 'bytes 8-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['lines=1', 200, '0123456789', null],
  ])('the range %s is a %d', async (range, status, text, contentRange) => {
    await start();
    await call('PUT', '/a/fs/write?path=/f', '0123456789');
    const response = await call('GET', '/a/fs/read?path=/f', undefined, { range });
    expect([response.status, await response.text(), response.headers.get('content-range')]).toEqual([
      status,
      text,
      contentRange,
    ]);
  });
});

describe('the policy', () => {
  test('is kept, read back and seen by tests', async () => {
    await start();
    const rules = [{ domain: '*.example.com', action: 'allow' }, { include: 'defaults' }];
    expect(await json(call('GET', '/a/policy/network'))).toEqual({ rules: [] });
    expect((await call('POST', '/a/policy/network', { rules })).status).toBe(204);
    expect(await json(call('GET', '/a/policy/network'))).toEqual({ rules });
    expect(emulator.sprite('a')!.policy).toEqual(rules);
  });

  test.each([
    [{ rules: [{ domain: 'x.com', action: 'ask' }] }],
    [{ rules: [{ domain: '**', action: 'deny' }] }],
    [{ rules: [{ include: 'all' }] }],
    [{}],
  ])('%j is refused and changes nothing', async (policy) => {
    await start();
    await call('POST', '/a/policy/network', { rules: [{ domain: '*', action: 'deny' }] });
    expect((await call('POST', '/a/policy/network', policy)).status).toBe(400);
    expect(emulator.sprite('a')!.policy).toEqual([{ domain: '*', action: 'deny' }]);
  });

  test('is in force only once it was accepted', async () => {
    await start({ policyDelayMs: 80 });
    const posted = call('POST', '/a/policy/network', { rules: [{ domain: '*', action: 'deny' }] });
    await emulator.calls.arrived({ method: 'POST', path: '/v1/sprites/:name/policy/network' });
    expect(emulator.sprite('a')!.policy).toEqual([]);
    await posted;
    expect(emulator.sprite('a')!.policy).toHaveLength(1);
  });
});

describe('checkpoints', () => {
  async function ids(query = ''): Promise<unknown[]> {
    return ((await json(call('GET', `/a/checkpoints${query}`))) as { id: string }[]).map(({ id }) => id);
  }

  test('are told in lines, listed after the current disk, automatic ones only on demand', async () => {
    await start();
    const told = await lines(call('POST', '/a/checkpoint', { comment: 'mine' }));
    expect(told).toEqual([
      { type: 'info', data: expect.any(String), time: expect.any(String) },
      { type: 'complete', data: 'Checkpoint v1 created', time: expect.any(String) },
    ]);
    await emulator.autoCheckpoint('a');
    expect([await ids(), await ids('?includeAuto=true')]).toEqual([
      ['Current', 'v1'],
      ['Current', 'auto-1', 'v1'],
    ]);
    expect(await json(call('GET', '/a/checkpoints/v1'))).toMatchObject({ id: 'v1', comment: 'mine' });
    expect((await call('GET', '/a/checkpoints/v9')).status).toBe(404);
  });

  test('a restore brings the disk back, ends the sessions and fails the next exec', async () => {
    await start();
    await call('PUT', '/a/fs/write?path=/home/sprite/f', 'before');
    await lines(call('POST', '/a/checkpoint', {}));
    await call('PUT', '/a/fs/write?path=/home/sprite/f', 'after');
    await call('PUT', '/a/fs/write?path=/home/sprite/new', '');
    const { id, closed } = await running();
    const told = await lines(call('POST', '/a/checkpoints/v1/restore'));
    expect(told.map(({ type }) => type)).toEqual(['info', 'complete']);
    expect([await closed, stateOf(id)]).toEqual([1006, undefined]);
    expect(await (await call('GET', '/a/fs/read?path=/home/sprite/f')).text()).toBe('before');
    expect((await call('GET', '/a/fs/read?path=/home/sprite/new')).status).toBe(404);
    const statuses = [(await call('POST', '/a/exec?cmd=true')).status, (await call('POST', '/a/exec?cmd=true')).status];
    expect(statuses).toEqual([503, 200]);
  });

  test('the one in use cannot be deleted', async () => {
    await start();
    for (let i = 0; i < 2; i += 1) await lines(call('POST', '/a/checkpoint', {}));
    expect([
      (await call('DELETE', '/a/checkpoints/v2')).status,
      (await call('DELETE', '/a/checkpoints/v1')).status,
    ]).toEqual([409, 204]);
    expect(await ids()).toEqual(['Current', 'v2']);
  });

  test.each([
    ['repeatedComplete', ['info', 'complete', 'complete']],
    ['noComplete', ['info']],
    ['lineAfterComplete', ['info', 'complete', 'info']],
    ['errorBeforeComplete', ['info', 'error', 'complete']],
    ['oversize', ['info', 'info', 'complete']],
  ] as const)('the stream can have %s', async (name, types) => {
    await start();
    emulator.faults.add({ path: '/v1/sprites/:name/checkpoint', rewrite: LINE_FAULTS[name] });
    expect((await lines(call('POST', '/a/checkpoint', {}))).map(({ type }) => type)).toEqual(types);
  });
});

describe('the machine of a sprite', () => {
  test('runs while a client is attached, is frozen after it left, and goes on when it is used', async () => {
    await start({ idleMs: 60 });
    const { socket, id } = await running();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(emulator.sprite('a')!.status).toBe('running');
    socket.terminate();
    await turned('warm');
    while (stateOf(id) !== 'T') await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await call('GET', '/a')).status).toBe(200);
    expect(emulator.sprite('a')!.status).toBe('warm');
    // Attached, so that it is not frozen again before it was looked at.
    await once(connect(`/a/exec/${id}`), 'message');
    const { sessions } = (await json(call('GET', '/a/exec'))) as { sessions: { id: string }[] };
    expect(sessions.map((session) => session.id)).toEqual([id]);
    expect(['R', 'S']).toContain(stateOf(id));
  });

  test('loses its processes and its /tmp when it turns cold, and keeps the rest', async () => {
    await start({ idleMs: 30, coldMs: 30 });
    await call('PUT', '/a/fs/write?path=/tmp/f', '');
    await call('PUT', '/a/fs/write?path=/home/sprite/f', 'text');
    const { socket, id } = await running();
    socket.terminate();
    await turned('cold');
    while (stateOf(id) !== undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await json(call('GET', '/a/exec'))).toEqual({ count: 0, sessions: [] });
    expect((await call('GET', '/a/fs/read?path=/tmp/f')).status).toBe(404);
    expect(await (await call('GET', '/a/fs/read?path=/home/sprite/f')).text()).toBe('text');
  });

  test('a pause breaks connections, and the session is there afterwards', async () => {
    await start();
    const { id, closed } = await running();
    await emulator.pause('a', 'warm');
    expect(await closed).toBe(1006);
    expect(emulator.sprite('a')!.pids).toEqual([Number(id)]);
  });

  test('takes time to wake', async () => {
    await start({ wakeMs: { warm: 0, cold: 80 } });
    const before = performance.now();
    await call('GET', '/a/exec');
    expect(performance.now() - before).toBeGreaterThan(75);
  });
});

describe('the end', () => {
  test('comes in any state, twice, and leaves nothing', async () => {
    await start();
    const { directory } = emulator.sprite('a')!;
    const { closed } = await running('setsid sleep 300 & sleep 300');
    await emulator.pause('a', 'warm');
    const other = await running();
    await Promise.all([emulator.close(), emulator.close()]);
    await emulator.close();
    expect([await closed, await other.closed]).toEqual([1006, 1006]);
    const left = (await processTable()).filter((entry) => entry.directoryMarker === directory && !entry.zombie);
    expect([left, existsSync(directory)]).toEqual([[], false]);
  });

  test('ends a request that was carried out in secret', async () => {
    await start();
    emulator.faults.add({ method: 'POST', path: '/v1/sprites/:name/exec', effect: 'applied', reset: true });
    const failed = call('POST', '/a/exec?cmd=sleep&cmd=100').catch(() => 'cut');
    while (emulator.sprite('a')!.pids.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await emulator.close();
    expect(await failed).toBe('cut');
  });

  test('a deleted sprite takes its processes and its sockets along', async () => {
    await start();
    const { id, closed } = await running();
    await call('DELETE', '/a');
    expect([await closed, stateOf(id)]).toEqual([1006, undefined]);
  });
});

test('a sprite that is deleted while it wakes starts nothing any more', async () => {
  await start({ wakeMs: { warm: 0, cold: 500 } });
  const directory = emulator.sprite('a')!.directory;
  const socket = connect('/a/exec?cmd=sleep&cmd=100&detachable=true');
  const answered = new Promise<string>((resolve) => {
    socket.once('open', () => resolve('it runs'));
    socket.once('error', ({ message }) => resolve(message));
  });
  await emulator.calls.arrived({ path: '/v1/sprites/a/exec' });
  expect((await call('DELETE', '/a')).status).toBe(204);
  expect(await answered).toBe('Unexpected server response: 503');
  expect((await processTable()).filter(({ directoryMarker }) => directoryMarker === directory)).toEqual([]);
  expect(existsSync(directory)).toBe(false);
});

/** What there is beside the sprite `b`. */
function remains(): string[] {
  const { directory } = emulator.sprite('b')!;
  const all = readdirSync(dirname(directory), { recursive: true }).map(String);
  return all.filter((path) => ![basename(directory), 'p'].includes(path.split('/')[0]!));
}

test('a policy that is accepted after its sprite was deleted leaves nothing', async () => {
  await start({ policyDelayMs: 500 });
  const applied = call('POST', '/a/policy/network', { rules: [{ domain: 'example.com', action: 'allow' }] });
  await emulator.calls.arrived({ path: '/v1/sprites/a/policy/network' });
  expect((await call('DELETE', '/a')).status).toBe(204);
  expect([(await applied).status, remains()]).toEqual([503, []]);
});

test('a checkpoint that is asked for while its sprite is deleted leaves nothing', async () => {
  await start();
  const url = `${emulator.url}/v1/sprites/a/checkpoint`;
  const slow = request(url, { method: 'POST', headers: { authorization: `Bearer ${emulator.token}` } });
  const answered = once(slow, 'response') as Promise<[IncomingMessage]>;
  slow.write('{');
  await emulator.calls.arrived({ path: '/v1/sprites/a/checkpoint' });
  expect((await call('DELETE', '/a')).status).toBe(204);
  slow.end('}');
  const [answer] = await answered;
  expect((await answer.toArray()).join('')).toContain('"type":"error"');
  expect(remains()).toEqual([]);
});
