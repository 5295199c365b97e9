import { afterEach, expect, jest, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { eachAlternative } from '../kit/alternatives.js';
import { DAYTONA_ALTERNATIVES, type DaytonaAlternatives } from './alternatives.js';
import { DaytonaEmulator } from './daytona-emulator.js';
import type { DaytonaEmulatorOptions } from './options.js';

let emulator: DaytonaEmulator;
let id: string;

afterEach(async () => {
  jest.restoreAllMocks();
  await emulator.close();
});

type Json = Record<string, unknown>;

async function send(url: string, method: string, body?: unknown, more = {}): Promise<Response> {
  return await fetch(url, {
    method,
    headers: { authorization: `Bearer ${emulator.token}`, 'content-type': 'application/json', ...more },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function api(method: string, path: string, body?: unknown): Promise<Response> {
  return await send(emulator.url + path, method, body);
}

async function json(method: string, path: string, body?: unknown): Promise<Json> {
  return (await (await api(method, path, body)).json()) as Json;
}

function toolboxUrl(path: string): string {
  return `${emulator.url.replace('/api', '/toolbox')}/${id}${path}`;
}

async function toolbox(method: string, path: string, body?: unknown, more = {}): Promise<Response> {
  return await send(toolboxUrl(path), method, body, more);
}

async function inState(state: string | undefined): Promise<void> {
  while (emulator.sandbox(id)?.state !== state) await new Promise((resolve) => setTimeout(resolve, 2));
}

async function stopped(): Promise<void> {
  await api('POST', '/sandbox/a/stop');
  await inState('stopped');
}

/** The path of a command in the background. */
async function begun(command: string): Promise<string> {
  await toolbox('POST', '/process/session', { sessionId: 's' });
  const body = { command, runAsync: true, suppressInputEcho: true };
  const response = await toolbox('POST', '/process/session/s/exec', body);
  return `/process/session/s/command/${((await response.json()) as { cmdId: string }).cmdId}`;
}

async function log(path: string, more = {}): Promise<string> {
  return await (await toolbox('GET', `${path}/logs`, undefined, more)).text();
}

/** Until all of its output is there. */
async function logged(path: string, text: string): Promise<string> {
  while (!(await log(path)).includes(text));
  return path;
}

/** The state of the first sandbox of the listing. */
async function firstListed(): Promise<string> {
  const { items } = (await json('GET', '/sandbox')) as { items: { state: string }[] };
  return items[0]?.state ?? 'absent';
}

interface Probe {
  readonly probe: () => Promise<unknown>;
  /** What is to be seen for each value. */
  readonly seen: readonly unknown[];
  readonly more?: Partial<DaytonaEmulatorOptions>;
}

const SECONDS = expect.stringMatching(/^[1-6]?\d$/);

/** What is seen of each switch. */
const PROBES: Record<keyof DaytonaAlternatives, Probe> = {
  daemon: {
    probe: async () => {
      const statuses = [];
      for (const path of ['/files/upload-v2?path=f', '/files/upload?path=f']) {
        const form = new FormData();
        form.append('file', new Blob(['x']), 'f');
        const headers = { authorization: `Bearer ${emulator.token}` };
        statuses.push((await fetch(toolboxUrl(path), { method: 'POST', headers, body: form })).status);
      }
      const missing = await (await toolbox('GET', '/files/info?path=none')).text();
      const empty = await (await toolbox('POST', '/process/execute', {})).text();
      const version = await (await toolbox('GET', '/version')).json();
      return [...statuses, missing === '', empty === '', version];
    },
    seen: [
      [200, 404, false, false, { version: 'v0.205.1' }],
      [404, 200, true, true, { version: 'v0.190.0' }],
    ],
  },
  createAnswer: {
    probe: async () => [(await json('POST', '/sandbox', { name: 'b' }))['state'], emulator.sandbox('b')!.state],
    seen: [
      ['creating', 'started'],
      ['creating', 'creating'],
      ['started', 'started'],
    ],
  },
  startAnswer: {
    probe: async () => {
      await stopped();
      return (await json('POST', '/sandbox/a/start'))['state'];
    },
    seen: ['started', 'starting'],
  },
  conflictStatus: {
    probe: async () => {
      await api('POST', '/sandbox/a/stop');
      return (await api('POST', '/sandbox/a/start')).status;
    },
    seen: [409, 400],
    more: { delaysMs: { stop: Infinity } },
  },
  nameTaken: { probe: async () => (await api('POST', '/sandbox', { name: 'a' })).status, seen: [409, 400] },
  nameAfterDelete: {
    probe: async () => {
      await api('DELETE', '/sandbox/a');
      return [(await api('GET', '/sandbox/a')).status, (await api('POST', '/sandbox', { name: 'a' })).status];
    },
    seen: [
      [404, 200],
      [200, 409],
    ],
    more: { delaysMs: { destroy: Infinity } },
  },
  secondDelete: {
    probe: async () => {
      await api('DELETE', `/sandbox/${id}`);
      return (await api('DELETE', `/sandbox/${id}`)).status;
    },
    seen: [409, 404],
    more: { delaysMs: { destroy: Infinity } },
  },
  listAfterDelete: {
    probe: async () => {
      let nowMs = performance.now() + 300;
      jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
      await api('DELETE', `/sandbox/${id}`);
      const seen: string[] = [];
      for (; seen.at(-1) !== 'destroying'; nowMs += 50) {
        const state = await firstListed();
        if (seen.at(-1) !== state) seen.push(state);
      }
      return seen;
    },
    seen: [
      ['started', 'destroying'],
      ['absent', 'started', 'destroying'],
    ],
    more: { indexDelayMs: 300, delaysMs: { destroy: Infinity } },
  },
  cursor: {
    probe: async () => {
      await api('POST', '/sandbox', { name: 'b' });
      const { nextCursor } = await json('GET', '/sandbox?sort=name&order=asc');
      const { items } = await json(
        'GET',
        `/sandbox?sort=name&order=asc&cursor=${encodeURIComponent(nextCursor as string)}`,
      );
      return [JSON.parse(Buffer.from(nextCursor as string, 'base64').toString()), (items as Json[])[0]!['name']];
    },
    seen: [
      [{ sortValue: 'a', id: expect.any(String) }, 'b'],
      [['a', expect.any(String)], 'b'],
    ],
    more: { pageSize: 1 },
  },
  lastCursor: { probe: async () => (await json('GET', '/sandbox'))['nextCursor'], seen: [null, ''] },
  toolboxUrl: {
    probe: async () =>
      String((await json('GET', '/sandbox/a'))['toolboxProxyUrl'])
        .split('/')
        .slice(3)
        .join('/'),
    seen: ['toolbox', 'toolbox/', ''],
  },
  errorFields: {
    probe: async () => {
      const { code, source } = await json('GET', '/sandbox/none');
      return [code, source];
    },
    seen: [
      [undefined, undefined],
      ['NOT_FOUND', 'DAYTONA_API'],
    ],
  },
  retryAfter: {
    probe: async () => {
      const { headers } = await api('POST', '/sandbox', {});
      return [headers.get('retry-after-sandbox-create'), headers.get('retry-after')];
    },
    seen: [
      [SECONDS, null],
      [null, SECONDS],
    ],
    more: { limits: { 'sandbox-create': { count: 1, windowMs: 60_000 } } },
  },
  networkSettings: {
    probe: async () => [
      (await api('POST', '/sandbox/a/network-settings', { networkBlockAll: true })).status,
      (await api('POST', '/sandbox', { domainAllowList: 'a.b' })).status,
    ],
    seen: [
      [200, 200],
      [400, 400],
      [403, 403],
    ],
  },
  networkWhenStopped: {
    probe: async () => {
      await stopped();
      return (await api('POST', '/sandbox/a/network-settings', { networkBlockAll: true })).status;
    },
    seen: [200, 400],
  },
  resize: {
    probe: async () => {
      const response = await api('POST', '/sandbox/a/resize', { cpu: 2 });
      return [response.status, ((await response.json()) as Json)['message']];
    },
    seen: [
      [200, undefined],
      [404, 'Cannot POST /api/sandbox/a/resize'],
    ],
  },
  brokenSnapshot: {
    probe: async () => {
      emulator.failNext('snapshot', { reason: 'x' });
      await api('POST', '/sandbox/a/snapshot', { name: 's' });
      await inState('started');
      return [(await api('GET', '/snapshots/s')).status, (await json('GET', '/snapshots?name=s'))['total']];
    },
    seen: [
      [200, 2],
      [404, 2],
    ],
  },
  toolboxWhenGone: {
    probe: async () => {
      await api('DELETE', '/sandbox/a');
      return (await toolbox('GET', '/version')).status;
    },
    seen: [404, 401],
  },
  toolboxWhenStopping: {
    probe: async () => {
      await api('POST', '/sandbox/a/stop');
      return (await toolbox('GET', '/version')).status;
    },
    seen: [502, 400],
    more: { delaysMs: { stop: Infinity } },
  },
  toolboxWhenArchived: {
    probe: async () => {
      await stopped();
      await api('POST', '/sandbox/a/archive');
      await inState('archived');
      return (await toolbox('GET', '/version')).status;
    },
    seen: [404, 400],
  },
  execFailure: {
    probe: async () => {
      const response = await toolbox('POST', '/process/session/none/exec', { command: 'true' });
      return [response.status, ((await response.json()) as Json)['message']];
    },
    seen: [
      [500, 'failed to execute command: not found: session not found'],
      [404, 'not found: session not found'],
    ],
  },
  exitCode: {
    probe: async () => {
      const path = await begun('echo out');
      const socket = new WebSocket(`${toolboxUrl(path).replace('http', 'ws')}/logs?follow=true`, {
        headers: { authorization: `Bearer ${emulator.token}` },
      });
      await new Promise((resolve) => socket.once('close', resolve));
      return await (await toolbox('GET', path)).json();
    },
    seen: [
      { id: expect.any(String), command: 'echo out', exitCode: 0 },
      { id: expect.any(String), command: 'echo out' },
    ],
  },
  splitOutput: {
    probe: async () => await log(await logged(await begun('echo out'), 'out'), { 'x-daytona-split-output': 'true' }),
    seen: ['\u0001\u0001\u0001out\n', 'out\n'],
  },
  logSocket: {
    probe: async () => {
      const path = await logged(await begun('seq 1 1000'), '1000\n');
      const socket = new WebSocket(`${toolboxUrl(path).replace('http', 'ws')}/logs?follow=true`, {
        headers: { authorization: `Bearer ${emulator.token}` },
      });
      let bytes = 0;
      socket.on('message', (data: Buffer) => (bytes += data.length));
      const code = await new Promise((resolve) => socket.once('close', resolve));
      return [bytes, code];
    },
    seen: [
      [3893, 1000],
      [1024, 1000],
    ],
  },
  logFollowOverHttp: {
    probe: async () => {
      const path = await logged(await begun('echo one; read line; echo two'), 'one');
      const answer = toolbox('GET', `${path}/logs?follow=true`);
      const first = await answer;
      const body = first.text();
      await toolbox('POST', `${path}/input`, { data: 'x' });
      return await body;
    },
    seen: ['one\ntwo\n', 'one\n'],
  },
  inputEof: {
    probe: async () => {
      const path = await logged(await begun('echo up; read line; read -t 0.5 more; echo "status $?"'), 'up');
      await toolbox('POST', `${path}/input`, { data: 'x' });
      return /status \d+/.exec(await log(await logged(path, 'status')))![0];
    },
    // A time that ran out, or an end of file.
    seen: ['status 142', 'status 1'],
    more: { shell: '/bin/bash' },
  },
  executeLimit: {
    probe: async () => (await toolbox('POST', '/process/execute', { command: 'sleep 0.3' })).status,
    seen: [200, 408],
    more: { executeDefaultMs: 50 },
  },
  range: {
    probe: async () => {
      await toolbox('POST', '/files/upload-v2?path=f', 12345);
      const response = await toolbox('GET', '/files/download?path=f', undefined, { range: 'bytes=1-2' });
      return [response.status, await response.text()];
    },
    seen: [
      [206, '23'],
      [200, '12345'],
    ],
  },
};

test.each(eachAlternative(DAYTONA_ALTERNATIVES))('$name as $value', async ({ name, value, choice }) => {
  const { probe, seen, more } = PROBES[name];
  emulator = await DaytonaEmulator.start({ ...more, alternatives: choice });
  await api('POST', '/sandbox', { name: 'a' });
  ({ id } = emulator.sandbox('a')!);
  await inState('started');
  const values: readonly unknown[] = DAYTONA_ALTERNATIVES[name];
  expect(await probe()).toEqual(seen[values.indexOf(value)]);
  expect(seen).toHaveLength(values.length);
});
