import { once } from 'node:events';
import { existsSync, symlinkSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { DaytonaEmulator } from './daytona-emulator.js';
import type { DaytonaEmulatorOptions } from './options.js';

let emulator: DaytonaEmulator;
let base: string;

afterEach(async () => await emulator.close());

/** With one sandbox, `a`, that runs. */
async function start(options: Partial<DaytonaEmulatorOptions> = {}): Promise<void> {
  emulator = await DaytonaEmulator.start(options);
  base = await sandbox('a');
}

async function sandbox(name: string): Promise<string> {
  const response = await fetch(`${emulator.url}/sandbox`, {
    method: 'POST',
    headers: { authorization: `Bearer ${emulator.token}` },
    body: JSON.stringify({ name }),
  });
  return `${emulator.url.replace('/api', '/toolbox')}/${((await response.json()) as { id: string }).id}`;
}

async function call(
  method: string,
  path: string,
  body?: string | Uint8Array | FormData,
  headers = {},
): Promise<Response> {
  return await fetch(`${base}/files${path}`, {
    method,
    headers: { authorization: `Bearer ${emulator.token}`, ...headers },
    ...(body !== undefined && { body }),
  });
}

async function json(response: Promise<Response>): Promise<[number, unknown]> {
  const answered = await response;
  const body = await answered.text();
  return [answered.status, body === '' ? '' : (JSON.parse(body) as unknown)];
}

async function text(path: string, headers = {}): Promise<[number, string]> {
  const response = await call('GET', `/download?path=${path}`, undefined, headers);
  return [response.status, await response.text()];
}

function form(...parts: [name: string, content: string, file?: boolean][]): FormData {
  const made = new FormData();
  for (const [name, content, file] of parts) {
    if (file === true) made.append(name, new Blob([content]), 'name');
    else made.append(name, content);
  }
  return made;
}

const BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte);

describe('an upload', () => {
  test('keeps every byte, and makes the parents', async () => {
    await start();
    const uploaded = await json(call('POST', '/upload-v2?path=d/e/f', BYTES));
    expect(uploaded).toEqual([200, { name: 'f', path: 'd/e/f', type: 'file' }]);
    const response = await call('GET', '/download?path=/home/daytona/d/e/f');
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(BYTES);
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="f"');
    expect(existsSync(join(emulator.sandbox('a')!.home, 'd/e/f'))).toBe(true);
  });

  test('can be a form', async () => {
    await start();
    expect((await call('POST', '/upload-v2?path=f', form(['file', 'text', true]))).status).toBe(200);
    expect(await text('f')).toEqual([200, 'text']);
    expect((await call('POST', '/upload-v2?path=f', form(['other', 'text']))).status).toBe(400);
  });

  test('writes into the file that is there, whose mode stays', async () => {
    await start();
    await call('POST', '/upload-v2?path=f', 'long text');
    await call('POST', '/permissions?path=f&mode=0600');
    await call('POST', '/upload-v2?path=f', 'short');
    expect(await text('f')).toEqual([200, 'short']);
    expect(await json(call('GET', '/info?path=f'))).toMatchObject([200, { permissions: '0600', size: 5 }]);
  });

  test('of many tells of each, and of what failed', async () => {
    await start();
    const many = form(
      ['files[0].path', 'x/1'],
      ['files[0].file', 'one', true],
      ['files[1].path', '/tmp/2'],
      ['files[1].file', 'three', true],
    );
    expect(await json(call('POST', '/bulk-upload', many))).toEqual([
      200,
      {
        files: [
          { path: 'x/1', bytes: 3 },
          { path: '/tmp/2', bytes: 5 },
        ],
      },
    ]);
    const bad = form(
      ['files[0].path', 'x'],
      ['files[0].file', 'a', true],
      ['files[1].path', 'y'],
      ['files[1].file', 'b', true],
    );
    expect(await json(call('POST', '/bulk-upload', bad))).toEqual([
      400,
      { errors: ['x: x: is a directory'], files: [{ path: 'y', bytes: 1 }] },
    ]);
  });
});

test('an upload whose sandbox goes down meanwhile gets no word of its daemon', async () => {
  await start();
  const { id, directory } = emulator.sandbox('a')!;
  const headers = { authorization: `Bearer ${emulator.token}`, 'content-type': 'multipart/form-data; boundary=x' };
  const slow = request(`${base}/files/bulk-upload`, { method: 'POST', headers });
  const answered = once(slow, 'response') as Promise<[IncomingMessage]>;
  const part = (name: string, content: string) =>
    `--x\r\nContent-Disposition: form-data; ${name}\r\n\r\n${content}\r\n`;
  slow.write(part('name="files[0].path"', 'd/f'));
  await emulator.calls.arrived({ path: `/toolbox/${id}/files/bulk-upload` });
  const authorization = headers.authorization;
  await fetch(`${emulator.url}/sandbox/a`, { method: 'DELETE', headers: { authorization } });
  await emulator.finish(id);
  slow.end(`${part('name="files[0].file"; filename="f"', 'content')}--x--\r\n`);
  const [answer] = await answered;
  answer.resume();
  expect([answer.statusCode, existsSync(directory)]).toEqual([502, false]);
});

describe('a download', () => {
  test.each([
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['bytes=a', 200, '0123456789', null],
  ])('of %s', async (range, status, body, contentRange) => {
    await start();
    await call('POST', '/upload-v2?path=f', '0123456789');
    const response = await call('GET', '/download?path=f', undefined, { range });
    expect([response.status, await response.text(), response.headers.get('content-range')]).toEqual([
      status,
      body,
      contentRange,
    ]);
  });

  test('of many is a form, with an error for what is missing', async () => {
    await start();
    await call('POST', '/upload-v2?path=f', 'text');
    const response = await call('POST', '/bulk-download', JSON.stringify({ paths: ['f', 'none'] }));
    expect(response.headers.get('content-type')).toBe('multipart/form-data; boundary=DAYTONA-FILE-BOUNDARY');
    const parts = [...(await response.formData())];
    expect(parts.map(([name]) => name)).toEqual(['file', 'error']);
    const [file, error] = await Promise.all(parts.map(async ([, part]) => await (part as File).text()));
    expect(file).toBe('text');
    expect(JSON.parse(error!)).toMatchObject({ statusCode: 404, code: 'FILE_NOT_FOUND' });
  });

  test('can be cut', async () => {
    await start();
    await call('POST', '/upload-v2?path=f', '0123456789');
    emulator.faults.add({ path: /download/, truncateAt: 4 });
    const response = await call('GET', '/download?path=f');
    await expect(response.text()).rejects.toThrow('terminated');
  });
});

describe('what is known of a file', () => {
  test('is told', async () => {
    await start();
    await call('POST', '/upload-v2?path=/x/f', 'text');
    expect(await json(call('GET', '/info?path=/x/f'))).toEqual([
      200,
      {
        name: 'f',
        path: '/x/f',
        size: 4,
        mode: '-rw-r--r--',
        modTime: expect.any(String),
        modifiedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        isDir: false,
        owner: expect.stringMatching(/^\d+$/),
        group: expect.stringMatching(/^\d+$/),
        permissions: '0644',
      },
    ]);
  });

  test('is listed for a directory, and below it when that is asked for', async () => {
    await start();
    await call('POST', '/upload-v2?path=/x/d/g', '');
    await call('POST', '/upload-v2?path=/x/f', 'text');
    const names = async (query: string) => {
      const [, listed] = await json(call('GET', `?path=/x${query}`));
      return (listed as { path: string; isDir: boolean }[]).map(({ path, isDir }) => [path, isDir]);
    };
    expect(await names('')).toEqual([
      ['/x/d', true],
      ['/x/f', false],
    ]);
    expect(await names('&depth=2')).toEqual([
      ['/x/d', true],
      ['/x/d/g', false],
      ['/x/f', false],
    ]);
  });
});

test('a folder is made with its parents and a mode', async () => {
  await start();
  expect((await call('POST', '/folder?path=p/q&mode=0700')).status).toBe(201);
  expect(await json(call('GET', '/info?path=p/q'))).toMatchObject([200, { isDir: true, mode: 'drwx------' }]);
});

test('a file is moved, though never onto another', async () => {
  await start();
  await call('POST', '/upload-v2?path=f', 'text');
  await call('POST', '/upload-v2?path=g', 'other');
  const refused = await json(call('POST', '/move?source=f&destination=g'));
  expect(refused).toMatchObject([409, { message: 'conflict: g: file exists', code: 'CONFLICT' }]);
  expect((await call('POST', '/move?source=f&destination=h')).status).toBe(200);
  expect(await text('h')).toEqual([200, 'text']);
});

test('a directory is only deleted with what it holds when that is asked for', async () => {
  await start();
  await call('POST', '/upload-v2?path=d/f', '');
  expect((await call('DELETE', '?path=d')).status).toBe(400);
  expect((await call('DELETE', '?path=d/f')).status).toBe(204);
  expect((await call('DELETE', '?path=d&recursive=true')).status).toBe(204);
  expect((await call('DELETE', '?path=d')).status).toBe(404);
  expect((await call('DELETE', '?path=/&recursive=true')).status).toBe(403);
});

test.each([
  ['GET', '/info?path=none', 404, 'FILE_NOT_FOUND'],
  ['GET', '/download?path=/', 400, 'INVALID_FILE_PATH'],
  ['GET', '/info', 400, 'INVALID_FILE_PATH'],
  ['GET', '?path=none', 404, 'FILE_NOT_FOUND'],
  ['POST', '/permissions?path=none&mode=0600', 404, 'FILE_NOT_FOUND'],
  ['POST', '/permissions?path=/&mode=9', 400, 'INVALID_FILE_PATH'],
  ['POST', '/permissions?path=/&owner=nobody', 400, 'BAD_REQUEST'],
  ['POST', '/move?source=none&destination=x', 404, 'FILE_NOT_FOUND'],
])('%s of %s is %d, %s', async (method, path, status, code) => {
  await start();
  expect(await json(call(method, path))).toMatchObject([status, { code, source: 'DAYTONA_DAEMON' }]);
});

test('no call reaches beyond its sandbox', async () => {
  await start();
  await call('POST', '/upload-v2?path=/tmp/f', 'text');
  symlinkSync('/etc', join(emulator.sandbox('a')!.home, 'link'));
  for (const path of ['/etc/passwd', 'link/passwd', '../../../../../../etc/passwd']) {
    expect((await text(path))[0]).toBe(404);
  }
  base = await sandbox('b');
  expect((await text('/tmp/f'))[0]).toBe(404);
});
