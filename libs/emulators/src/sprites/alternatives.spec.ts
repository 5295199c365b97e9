import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { eachAlternative } from '../kit/alternatives.js';
import { SPRITES_ALTERNATIVES, type SpritesAlternatives } from './alternatives.js';
import type { SpritesEmulatorOptions } from './options.js';
import { SpritesEmulator } from './sprites-emulator.js';

let emulator: SpritesEmulator;

afterEach(async () => await emulator.close());

async function call(method: string, path: string, body?: unknown, headers = {}): Promise<Response> {
  return await fetch(`${emulator.url}/v1/sprites${path}`, {
    method,
    headers: { authorization: `Bearer ${emulator.token}`, ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}

async function json(path: string): Promise<Record<string, unknown>> {
  return (await (await call('GET', path)).json()) as Record<string, unknown>;
}

interface Talk {
  readonly socket: WebSocket;
  readonly texts: Record<string, unknown>[];
  readonly log: string[];
  status?: number | undefined;
  headers?: Record<string, unknown>;
  output: string;
  stderr: string;
}

/** Opens an exec; resolves at its end, or earlier when `enough` says so. */
async function talk(path: string, query: string, enough: (talk: Talk) => boolean = () => false): Promise<Talk> {
  const socket = new WebSocket(`${emulator.url.replace('http', 'ws')}/v1/sprites${path}?${query}`, {
    headers: { authorization: `Bearer ${emulator.token}` },
  });
  const seen: Talk = { socket, texts: [], log: [], output: '', stderr: '' };
  const tty = query.includes('tty=true');
  return await new Promise((resolve) => {
    socket.on('upgrade', ({ headers }) => (seen.headers = headers));
    socket.on('error', () => {});
    socket.on('close', () => resolve(seen));
    socket.on('unexpected-response', (_, { statusCode }) => {
      seen.status = statusCode;
      resolve(seen);
    });
    socket.on('message', (data: Buffer, binary) => {
      if (!binary) seen.texts.push(JSON.parse(data.toString()) as Record<string, unknown>);
      seen.log.push(binary ? String(data[0]) : String(seen.texts.at(-1)!['type']));
      if (binary && (tty || data[0] === 1)) seen.output += (tty ? data : data.subarray(1)).toString();
      if (binary && !tty && data[0] === 2) seen.stderr += data.subarray(1).toString();
      if (enough(seen)) resolve(seen);
    });
  });
}

function sh(script: string, more = ''): string {
  return `cmd=sh&cmd=-c&cmd=${encodeURIComponent(script)}${more}`;
}

/** A command that has printed `up` and waits. */
async function waiting(script: string, more = ''): Promise<Talk> {
  return await talk('/a/exec', sh(`${script}; echo up; sleep 100`, more), ({ output }) => output.includes('up'));
}

function idOf({ texts }: Talk): unknown {
  return texts.find(({ type }) => type === 'session_info')?.['session_id'];
}

async function killLines(id: unknown, query = ''): Promise<Record<string, unknown>[]> {
  const text = await (await call('POST', `/a/exec/${String(id)}/kill${query}`)).text();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function gone(id: unknown): Promise<void> {
  while (emulator.sprite('a')!.pids.includes(Number(id))) await new Promise((resolve) => setTimeout(resolve, 5));
}

type Name = keyof SpritesAlternatives;

/** What is seen of each switch, and what is to be seen for each of its values. */
const PROBES: Record<
  Name,
  { probe: (value: unknown) => Promise<unknown>; seen: readonly unknown[]; more?: Partial<SpritesEmulatorOptions> }
> = {
  duplicateName: { probe: async () => (await call('POST', '', { name: 'a' })).status, seen: [409, 400] },
  createStatus: { probe: async () => (await call('POST', '', { name: 'b' })).status, seen: [201, 200] },
  createBody: {
    probe: async () => Object.keys((await (await call('POST', '', { name: 'b' })).json()) as object).length > 1,
    seen: [true, false],
  },
  initialStatus: { probe: async () => (await json('/a'))['status'], seen: ['cold', 'running'] },
  spriteId: { probe: async () => String((await json('/a'))['id']).startsWith('sprite-'), seen: [true, false] },
  timeNames: { probe: async () => 'last_running_at' in (await json('/a')), seen: [true, false] },
  listEntries: {
    probe: async () => Object.keys(((await json('')) as { sprites: object[] }).sprites[0]!).length > 3,
    seen: [true, false],
  },
  deleteStatus: { probe: async () => (await call('DELETE', '/a')).status, seen: [204, 200, 202] },
  sessionId: { probe: async () => typeof idOf(await waiting(':')), seen: ['string', 'number'] },
  sessionList: { probe: async () => await json('/a/exec'), seen: [{ count: 0, sessions: [] }, []] },
  sessionCreated: {
    probe: async () => typeof (await talk('/a/exec', sh(':'))).texts[0]!['created'],
    seen: ['number', 'string'],
  },
  sessionSize: {
    probe: async () => (await talk('/a/exec', sh(':', '&tty=true&cols=90'))).texts[0]!['cols'],
    seen: [0, 90],
  },
  debugFrame: { probe: async () => (await talk('/a/exec', sh(':'))).log[0], seen: ['session_info', 'debug'] },
  env: {
    probe: async () => (await talk('/a/exec', sh('echo $A$USER', '&env=A%3D1'))).output,
    seen: ['1\n', '1sprite\n'],
  },
  missingDirectory: {
    probe: async () => (await talk('/a/exec', sh('pwd', '&dir=/none'))).log.includes('error'),
    seen: [false, true],
  },
  startFailure: { probe: async () => (await talk('/a/exec', 'cmd=none')).status, seen: [undefined, 400] },
  earlyOutput: {
    probe: async () => (await talk('/a/exec', sh('printf 0123456789'))).output,
    seen: ['6789', '0123456789'],
    more: { attachDelayMs: 200, earlyBytes: 4 },
  },
  stderrStream: { probe: async () => (await talk('/a/exec', sh('echo e >&2'))).stderr, seen: ['e\n', ''] },
  textExit: {
    probe: async () => {
      // Late: its shell was reaped.
      const late = 'while kill -0 $$ 2>/dev/null; do sleep 0.01; done; sleep 0.1; echo late';
      return (await talk('/a/exec', sh(`(${late}) &`))).log.slice(1);
    },
    seen: [
      ['1', 'exit', '3'],
      ['exit', '1', '3'],
    ],
  },
  signalCapability: {
    probe: async () => (await talk('/a/exec', sh(':'))).headers?.['x-sprite-capabilities'],
    seen: ['signal', undefined],
  },
  replayBytes: {
    probe: async () => {
      const first = await waiting('seq 1 20000');
      const second = await talk(`/a/exec/${String(idOf(first))}`, '', ({ output }) => output.includes('up'));
      return second.output.length;
    },
    seen: [16_384, 65_536],
  },
  replayedStderr: {
    probe: async () => {
      const first = await waiting('echo e >&2; sleep 0.1');
      const second = await talk(`/a/exec/${String(idOf(first))}`, '', ({ output }) => output.includes('up'));
      return second.stderr;
    },
    seen: ['e\n', ''],
  },
  terminalReplay: {
    probe: async () => {
      const first = await waiting(String.raw`printf '\033[31mred\033[0m'`, '&tty=true');
      const id = String(idOf(first));
      return (await talk(`/a/exec/${id}`, 'tty=true', ({ output }) => output.includes('up'))).output;
    },
    seen: ['\u001B[31mred\u001B[0mup\r\n', 'redup\r\n'],
  },
  attachByPath: {
    probe: async () => (await talk(`/a/exec/${String(idOf(await waiting(':')))}`, '', () => true)).status,
    seen: [undefined, 404],
  },
  detachableAlone: {
    probe: async () => {
      const { socket, ...left } = await waiting(':', '&detachable=true');
      const other = await waiting(':');
      for (const client of [socket, other.socket]) client.terminate();
      await gone(idOf(other));
      // The time of the first is over before that of a third which began later.
      const third = await waiting(':');
      third.socket.terminate();
      await gone(idOf(third));
      return emulator.sprite('a')!.pids.includes(Number(idOf({ socket, ...left })));
    },
    seen: [true, false],
    more: { runAfterDisconnectMs: 50 },
  },
  slowClient: {
    probe: async (value) => {
      const first = await talk('/a/exec', sh('head -c 30000000 /dev/zero'), ({ output }) => output.length > 0);
      first.socket.pause();
      // Without a client the command is ended, by which one knows that it was dropped.
      if (value === 'dropped') await gone(idOf(first));
      else await new Promise((resolve) => setTimeout(resolve, 500));
      first.socket.resume();
      await new Promise((resolve) => first.socket.once('close', resolve));
      return first.output.length === 30_000_000;
    },
    seen: [true, false],
    more: { stalledMs: 100, runAfterDisconnectMs: 50 },
  },
  killAfterExit: {
    probe: async () => {
      const ended = idOf(await talk('/a/exec', sh(':')));
      return (await call('POST', `/a/exec/${String(ended)}/kill`)).status;
    },
    seen: [410, 404],
  },
  killExitCode: {
    probe: async () => (await killLines(idOf(await waiting(':')))).at(-1)!['exit_code'],
    seen: [143, 0],
  },
  killBody: {
    probe: async () => {
      const id = String(idOf(await waiting(':')));
      const text = await (await call('POST', `/a/exec/${id}/kill`, { signal: 'SIGKILL' })).text();
      return (JSON.parse(text.split('\n')[0]!) as { signal: string }).signal;
    },
    seen: ['SIGTERM', 'SIGKILL'],
  },
  parentDirectories: {
    probe: async () => (await call('PUT', '/a/fs/write?path=/x/y/z', 'text')).status,
    seen: [200, 404],
  },
  range: {
    probe: async () => {
      await call('PUT', '/a/fs/write?path=/f', '0123456789');
      const response = await call('GET', '/a/fs/read?path=/f', undefined, { range: 'bytes=2-4' });
      return [response.status, await response.text()];
    },
    seen: [
      [206, '234'],
      [200, '0123456789'],
    ],
  },
  policyStatus: {
    probe: async () => (await call('POST', '/a/policy/network', { rules: [] })).status,
    seen: [204, 200],
  },
  runningLimit: {
    probe: async () => {
      await call('POST', '', { name: 'b' });
      await call('GET', '/b/exec');
      return [(await call('GET', '/a/exec')).status, (await call('POST', '', { name: 'c' })).status];
    },
    seen: [
      [429, 201],
      [200, 429],
    ],
    more: { runningLimit: 1 },
  },
  checkpointDeleteStatus: {
    probe: async () => {
      for (const comment of ['1', '2']) await (await call('POST', '/a/checkpoint', { comment })).text();
      return (await call('DELETE', '/a/checkpoints/v1')).status;
    },
    seen: [204, 200],
  },
  restoreBackup: {
    probe: async () => {
      await (await call('POST', '/a/checkpoint', {})).text();
      await (await call('POST', '/a/checkpoints/v1/restore')).text();
      const all = (await (await call('GET', '/a/checkpoints?includeAuto=true')).json()) as { id: string }[];
      return all.map(({ id }) => id);
    },
    seen: [
      ['Current', 'v1'],
      ['Current', 'auto-1', 'v1'],
    ],
  },
};

describe('alternatives', () => {
  test.each(eachAlternative(SPRITES_ALTERNATIVES))('$name as $value', async ({ name, value, choice }) => {
    const values: readonly unknown[] = SPRITES_ALTERNATIVES[name];
    const { probe, seen, more } = PROBES[name];
    emulator = await SpritesEmulator.start({ ...more, alternatives: choice });
    await call('POST', '', { name: 'a' });
    expect(await probe(value)).toEqual(seen[values.indexOf(value)]);
    expect(seen).toHaveLength(values.length);
  });
});
