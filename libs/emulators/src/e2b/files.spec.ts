import { createHash } from 'node:crypto';
import { readFile, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import { E2bEmulator } from './e2b-emulator.js';
import type { E2bEmulatorOptions } from './options.js';

let emulator: E2bEmulator;
let id: string;
let token: string;

afterEach(async () => await emulator.close());

type Json = Record<string, unknown>;

async function start(options: Partial<E2bEmulatorOptions> = {}): Promise<void> {
  emulator = await E2bEmulator.start(options);
  const response = await fetch(`${emulator.url}/v2/sandboxes`, {
    method: 'POST',
    headers: { 'x-api-key': emulator.apiKey, 'content-type': 'application/json' },
    body: '{"templateID":"base"}',
  });
  ({ sandboxID: id, envdAccessToken: token } = (await response.json()) as {
    sandboxID: string;
    envdAccessToken: string;
  });
}

function routed(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { 'e2b-sandbox-id': id, 'e2b-sandbox-port': '49983', 'x-access-token': token, ...more };
}

async function get(query: string, headers = {}): Promise<Response> {
  return await fetch(`${emulator.url}/files?${query}`, { headers: routed(headers) });
}

async function post(query: string, body: FormData | Buffer | string, headers = {}): Promise<[number, unknown]> {
  const response = await fetch(`${emulator.url}/files?${query}`, { method: 'POST', headers: routed(headers), body });
  return [response.status, JSON.parse(await response.text()) as unknown];
}

const RAW = { 'content-type': 'application/octet-stream' };

function form(...parts: readonly (readonly [name: string, filename: string, content: string | Buffer])[]): FormData {
  const data = new FormData();
  for (const [name, filename, content] of parts) data.append(name, new Blob([content]), filename);
  return data;
}

async function rpc(method: string, message: Json): Promise<[number, Json]> {
  const response = await fetch(`${emulator.url}/filesystem.Filesystem/${method}`, {
    method: 'POST',
    headers: routed({ 'content-type': 'application/json' }),
    body: JSON.stringify(message),
  });
  return [response.status, (await response.json()) as Json];
}

function at(...names: string[]): string {
  return join(emulator.sandbox(id)!.home, ...names);
}

describe('upload', () => {
  test('takes the part `file` of a form, with parents made, and calls its answer text', async () => {
    await start();
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 13) % 256));
    const response = await fetch(`${emulator.url}/files?path=deep/er/a`, {
      method: 'POST',
      headers: routed(),
      body: form(['other', 'x', 'skipped'], ['file', 'ignored', bytes]),
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(JSON.parse(await response.text())).toEqual([{ path: '/home/user/deep/er/a', name: 'a', type: 'file' }]);
    expect((await readFile(at('deep/er/a'))).equals(bytes)).toBe(true);
  });

  test('without a path takes the names of the parts', async () => {
    await start();
    const parts = form(['file', '/tmp/one', '1'], ['file', 'two', '2']);
    expect(await post('', parts)).toEqual([
      200,
      [
        { path: '/tmp/one', name: 'one', type: 'file' },
        { path: '/home/user/two', name: 'two', type: 'file' },
      ],
    ]);
    expect([await readFile(at('../../tmp/one'), 'utf8'), await readFile(at('two'), 'utf8')]).toEqual(['1', '2']);
  });

  test('without a part `file` writes nothing and says so with an empty list', async () => {
    await start();
    expect(await post('path=a', form(['data', 'a', '1']))).toEqual([200, []]);
    expect((await get('path=a')).status).toBe(404);
  });

  test('takes raw bytes, compressed ones too', async () => {
    await start();
    expect((await post('path=~/raw', Buffer.from('raw'), RAW))[0]).toBe(200);
    await post('path=packed', gzipSync('packed'), { ...RAW, 'content-encoding': 'gzip' });
    expect([await readFile(at('raw'), 'utf8'), await readFile(at('packed'), 'utf8')]).toEqual(['raw', 'packed']);
  });

  test('keeps the mode of a file that was there, and its content is replaced in place', async () => {
    await start();
    await post('path=a', Buffer.from('longer'), RAW);
    const before = await stat(at('a'));
    await post('path=a', Buffer.from('b'), RAW);
    const after = await stat(at('a'));
    expect([after.ino, after.mode, await readFile(at('a'), 'utf8')]).toEqual([before.ino, before.mode, 'b']);
  });

  test('refuses what it cannot do', async () => {
    await start();
    await post('path=dir/file', Buffer.from('x'), RAW);
    const status = async (query: string, body: FormData | Buffer | string, headers = {}) => {
      return (await post(query, body, headers))[0];
    };
    expect(await post('path=dir', Buffer.from('x'), RAW)).toEqual([
      400,
      { code: 400, message: "path 'dir' is a directory" },
    ]);
    expect(await status('', Buffer.from('x'), RAW)).toBe(400);
    expect(await status('path=a', 'x', { 'content-type': 'text/plain' })).toBe(400);
    expect(await status('path=~other/x', Buffer.from('x'), RAW)).toBe(400);
    expect(await status('path=dir/file/below', Buffer.from('x'), RAW)).toBe(500);
    expect(await status('path=a', form(['file', 'x', '1'], ['file', 'y', '2']))).toBe(400);
    expect(await readFile(at('a'), 'utf8')).toBe('1');
    expect(await status('path=a', 'broken', { 'content-type': 'multipart/form-data; boundary=x' })).toBe(500);
  });

  test('of raw bytes is unknown to an old envd', async () => {
    await start({ envdVersion: '0.5.6' });
    expect((await post('path=a', Buffer.from('x'), RAW))[0]).toBe(400);
  });

  test('does not follow a link out of the sandbox', async () => {
    await start();
    await symlink('/etc', at('out'));
    expect((await post('path=out/x', Buffer.from('x'), RAW))[0]).toBe(404);
    expect((await get('path=out/hostname')).status).toBe(404);
  });
});

describe('download', () => {
  test('gives the bytes with their length to a client that takes them as they are', async () => {
    await start();
    await post('path=a', Buffer.from('0123456789'), RAW);
    const response = await get('path=/home/user/a', { 'accept-encoding': 'identity' });
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([
      200,
      '10',
      '0123456789',
    ]);
    expect(response.headers.get('content-disposition')).toBe('inline');
  });

  test('compresses them for others', async () => {
    await start();
    await post('path=a', Buffer.from('0123456789'), RAW);
    const response = await get('path=a');
    expect([response.headers.get('content-encoding'), response.headers.get('content-length')]).toEqual(['gzip', null]);
    expect(await response.text()).toBe('0123456789');
  });

  test.each([
    ['bytes=4-', 206, '456789', 'bytes 4-9/10'],
    ['bytes=2-3', 206, '23', 'bytes 2-3/10'],
    ['bytes=-2', 206, '89', 'bytes 8-9/10'],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['lines=1-', 200, '0123456789', null],
  ])('%s is a %i', async (range, status, text, contentRange) => {
    await start();
    await post('path=a', Buffer.from('0123456789'), RAW);
    const response = await get('path=a', { range });
    expect([response.status, await response.text(), response.headers.get('content-range')]).toEqual([
      status,
      text,
      contentRange,
    ]);
  });

  test('says what is missing, and what is no file', async () => {
    await start();
    const answers = [];
    for (const path of ['none', '/home/user']) {
      const response = await get(`path=${path}`);
      answers.push([response.status, await response.json()]);
    }
    expect(answers).toEqual([
      [404, { code: 404, message: "path 'none' does not exist" }],
      [400, { code: 400, message: "path '/home/user' is a directory" }],
    ]);
    expect((await get('path=none', { 'accept-encoding': 'identity;q=0' })).status).toBe(406);
  });

  test('needs the token or a signature', async () => {
    await start();
    await post('path=a', Buffer.from('x'), RAW);
    const signed = async (operation: string, expiry?: number) => {
      const text = ['a', operation, 'user', token, ...(expiry === undefined ? [] : [expiry])].join(':');
      const signature = `v1_${createHash('sha256').update(text).digest('base64').replace(/=+$/, '')}`;
      const query = new URLSearchParams({ path: 'a', username: 'user', signature });
      if (expiry !== undefined) query.set('signature_expiration', String(expiry));
      const { 'x-access-token': _, ...headers } = routed();
      return (await fetch(`${emulator.url}/files?${query.toString()}`, { headers })).status;
    };
    const now = Math.floor(Date.now() / 1000);
    expect([await signed('read'), await signed('read', now + 60)]).toEqual([200, 200]);
    expect([await signed('write'), await signed('read', now - 60)]).toEqual([401, 401]);
    expect((await get('path=a', { 'x-access-token': 'wrong' })).status).toBe(401);
  });
});

describe('the file system', () => {
  test('tells of a file, without a size that is zero', async () => {
    await start();
    await post('path=a', Buffer.from('abc'), RAW);
    await post('path=empty', Buffer.from(''), RAW);
    const [status, { entry }] = await rpc('Stat', { path: 'a' });
    expect([status, entry]).toEqual([
      200,
      {
        name: 'a',
        type: 'FILE_TYPE_FILE',
        path: '/home/user/a',
        size: '3',
        mode: 0o644,
        permissions: '-rw-r--r--',
        owner: 'user',
        group: 'user',
        modifiedTime: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ]);
    expect((await rpc('Stat', { path: 'empty' }))[1]['entry']).not.toHaveProperty('size');
    expect((await rpc('Stat', { path: 'none' }))[1]['code']).toBe('not_found');
  });

  test('makes directories with their parents, though not where something is', async () => {
    await start();
    expect((await rpc('MakeDir', { path: 'x/y' }))[1]['entry']).toMatchObject({
      path: '/home/user/x/y',
      type: 'FILE_TYPE_DIRECTORY',
    });
    const again = await rpc('MakeDir', { path: 'x' });
    expect([again[0], again[1]['code']]).toEqual([409, 'already_exists']);
    await post('path=f', Buffer.from(''), RAW);
    expect((await rpc('MakeDir', { path: 'f' }))[1]['code']).toBe('invalid_argument');
  });

  test('lists as deep as asked', async () => {
    await start();
    await post('path=t/a/b', Buffer.from(''), RAW);
    await symlink('a', at('t/link'));
    const names = async (depth?: number) => {
      const [, { entries = [] }] = await rpc('ListDir', { path: 't', ...(depth !== undefined && { depth }) });
      return (entries as Json[]).map(({ path }) => path);
    };
    expect(await names()).toEqual(['/home/user/t/a', '/home/user/t/link']);
    expect(await names(2)).toEqual(['/home/user/t/a', '/home/user/t/link', '/home/user/t/a/b']);
    expect((await rpc('ListDir', { path: 't/a/b' }))[1]['code']).toBe('invalid_argument');
    expect((await rpc('ListDir', { path: 'none' }))[1]['code']).toBe('not_found');
    await rpc('MakeDir', { path: 'empty' });
    expect(await rpc('ListDir', { path: 'empty' })).toEqual([200, {}]);
  });

  test('moves over what is there, and removes what may be missing', async () => {
    await start();
    await post('path=a', Buffer.from('a'), RAW);
    await post('path=to/b', Buffer.from('b'), RAW);
    expect((await rpc('Move', { source: 'a', destination: 'to/b' }))[1]['entry']).toMatchObject({
      name: 'b',
      size: '1',
    });
    expect(await readFile(at('to/b'), 'utf8')).toBe('a');
    expect((await rpc('Move', { source: 'a', destination: 'x' }))[1]['code']).toBe('not_found');
    expect(await rpc('Remove', { path: 'to' })).toEqual([200, {}]);
    expect(await rpc('Remove', { path: 'to' })).toEqual([200, {}]);
    expect((await get('path=to/b')).status).toBe(404);
  });

  test('of a snapshot is that of the moment', async () => {
    await start();
    await post('path=a', Buffer.from('before'), RAW);
    const headers = { 'x-api-key': emulator.apiKey, 'content-type': 'application/json' };
    const control = async (path: string, body: Json) => {
      const response = await fetch(emulator.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await response.json()) as Record<string, string>;
    };
    const { snapshotID } = await control(`/sandboxes/${id}/snapshots`, {});
    await post('path=a', Buffer.from('after'), RAW);
    const restored = await control('/v2/sandboxes', { templateID: snapshotID });
    ({ sandboxID: id, envdAccessToken: token } = restored as { sandboxID: string; envdAccessToken: string });
    expect(await (await get('path=a')).text()).toBe('before');
  });
});

describe('envd', () => {
  test('tells its health, the variables of the sandbox and its measures', async () => {
    await start();
    const ask = async (path: string) => await fetch(emulator.url + path, { headers: routed() });
    expect((await ask('/health')).status).toBe(204);
    expect(await (await ask('/envs')).json()).toEqual({});
    expect(await (await ask('/metrics')).json()).toMatchObject({ cpu_count: 2, disk_total: 1024 * 1024 * 1024 });
  });
});
