import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { eachAlternative } from '../kit/alternatives.js';
import { E2B_ALTERNATIVES, type E2bAlternatives } from './alternatives.js';
import { E2bEmulator } from './e2b-emulator.js';
import type { E2bEmulatorOptions } from './options.js';

let emulator: E2bEmulator;
let id: string;
let token: string;

afterEach(async () => await emulator.close());

type Json = Record<string, unknown>;

async function control(method: string, path: string, body?: unknown): Promise<Response> {
  return await fetch(emulator.url + path, {
    method,
    headers: { 'x-api-key': emulator.apiKey, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function status(method: string, path: string, body?: unknown): Promise<number> {
  return (await control(method, path, body)).status;
}

function routed(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { 'e2b-sandbox-id': id, 'e2b-sandbox-port': '49983', 'x-access-token': token, ...more };
}

async function unary(method: string, message: Json = {}): Promise<[number, Json]> {
  const response = await fetch(`${emulator.url}/process.Process/${method}`, {
    method: 'POST',
    headers: routed({ 'content-type': 'application/json' }),
    body: JSON.stringify(message),
  });
  return [response.status, (await response.json()) as Json];
}

/** What a stream told: the kinds of its events in order, then `last` or `error:<code>`, then `cut` when it was. */
class Told {
  readonly log: string[] = [];
  readonly events: Json[] = [];
  readonly #abort = new AbortController();
  #changed: () => void = () => {};

  constructor(method: string, message: Json, headers: Record<string, string> = {}) {
    void this.#talk(method, message, headers).catch(() => this.#say('cut'));
  }

  get pid(): number {
    return (this.events[0]!['start'] as { pid: number }).pid;
  }

  get output(): string {
    const chunks = this.events.map(({ data }) => Object.values(Object(data) as Record<string, string>)[0] ?? '');
    return chunks.map((chunk) => Buffer.from(chunk, 'base64').toString()).join('');
  }

  get over(): boolean {
    return /^(?:last|cut|error)/.test(this.log.at(-1) ?? '');
  }

  async until(probe: (told: Told) => boolean): Promise<this> {
    while (!probe(this)) await new Promise<void>((resolve) => (this.#changed = resolve));
    return this;
  }

  async whole(): Promise<string[]> {
    return (await this.until(({ over }) => over)).log;
  }

  leave(): void {
    this.#abort.abort();
  }

  #say(word: string): void {
    this.log.push(word);
    this.#changed();
  }

  async #talk(method: string, message: Json, headers: Record<string, string>): Promise<void> {
    const payload = Buffer.from(JSON.stringify(message));
    const head = Buffer.from([0, 0, 0, 0, 0]);
    head.writeUInt32BE(payload.length, 1);
    const response = await fetch(`${emulator.url}/process.Process/${method}`, {
      method: 'POST',
      headers: routed({ 'content-type': 'application/connect+json', ...headers }),
      body: Buffer.concat([head, payload]),
      signal: this.#abort.signal,
    });
    let rest = Buffer.alloc(0);
    for await (const chunk of response.body!) {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
        const end = 5 + rest.readUInt32BE(1);
        const frame = JSON.parse(rest.subarray(5, end).toString()) as { event?: Json; error?: { code: string } };
        const last = rest[0] === 2;
        rest = rest.subarray(end);
        if (frame.event) this.events.push(frame.event);
        this.#say(last ? (frame.error ? `error:${frame.error.code}` : 'last') : Object.keys(frame.event!)[0]!);
      }
    }
  }
}

function run(script: string, more: Json = {}, headers: Record<string, string> = {}): Told {
  return new Told('Start', { process: { cmd: 'sh', args: ['-c', script] }, ...more }, headers);
}

async function up(script: string, more: Json = {}, headers: Record<string, string> = {}): Promise<Told> {
  return await run(`echo up; ${script}`, more, headers).until(({ output }) => output.includes('up'));
}

async function pause(): Promise<void> {
  await control('POST', `/sandboxes/${id}/pause`, {});
}

async function resume(): Promise<void> {
  await control('POST', `/v2/sandboxes/${id}/connect`, {});
}

/** Resolves once the sandbox is in a state that nothing tells. */
async function inState(state: string): Promise<void> {
  while (emulator.sandbox(id)?.state !== state) await new Promise((resolve) => setImmediate(resolve));
}

/** Resolves when envd lists no process. */
async function none(): Promise<void> {
  while (emulator.sandbox(id)!.pids.length > 0) await new Promise((resolve) => setImmediate(resolve));
}

/** A process that was read by somebody when the sandbox was paused, runs again, and prints without end. */
async function haunted(): Promise<Told> {
  const told = await up('read -r line; while :; do echo more || exit; done');
  await pause();
  await resume();
  await unary('SendInput', { process: { pid: told.pid }, input: { stdin: Buffer.from('go\n').toString('base64') } });
  return told;
}

/** The first words that a stream says, or `silence` when it says none while another command runs. */
async function first(told: Told, count: number): Promise<string[]> {
  const quiet = run('sleep 0.3').whole();
  await Promise.race([quiet, told.until(({ log }) => log.length >= count)]);
  return [...told.log];
}

async function selected(tag: string): Promise<number> {
  return (await unary('SendInput', { process: { tag }, input: { stdin: '' } }))[0];
}

type Name = keyof E2bAlternatives;

interface Probe {
  readonly probe: () => Promise<unknown>;
  readonly seen: readonly unknown[];
  readonly more?: Partial<E2bEmulatorOptions>;
}

const V2 = { templateID: 'base' };

/** What is seen of each switch, and what is to be seen for each of its values. */
const PROBES: Record<Name, Probe> = {
  v1Paths: {
    probe: async () => [
      await status('POST', '/sandboxes', V2),
      await status('POST', `/sandboxes/${id}/connect`, { timeout: 9 }),
    ],
    seen: [
      [201, 200],
      [404, 404],
    ],
  },
  v2Paths: {
    probe: async () => [await status('POST', '/v2/sandboxes', V2), await status('GET', '/v2/sandboxes')],
    seen: [
      [201, 200],
      [404, 200],
    ],
  },
  unknownFields: {
    probe: async () => await status('POST', '/v2/sandboxes', { ...V2, allowInternetAccess: false }),
    seen: [201, 400],
  },
  idSpelling: {
    probe: async () => Object.keys(((await (await control('GET', '/v2/sandboxes')).json()) as Json[])[0]!)[2],
    seen: ['sandboxID', 'sandboxId'],
  },
  listAfterCreate: {
    probe: async () => ((await (await control('GET', '/v2/sandboxes')).json()) as Json[]).length,
    seen: [1, 0],
    more: { listLagMs: 60_000 },
  },
  concurrentConnect: {
    probe: async () => {
      await pause();
      const one = status('POST', `/v2/sandboxes/${id}/connect`, {});
      await inState('resuming');
      const other = status('POST', `/v2/sandboxes/${id}/connect`, {});
      await emulator.calls.arrived({ path: `/v2/sandboxes/${id}/connect` }, 2);
      // What is answered now came after both.
      await control('GET', `/sandboxes/${id}`);
      await emulator.finish(id);
      return await Promise.all([one, other]);
    },
    seen: [
      [201, 201],
      [201, 409],
    ],
    more: { delayMs: { resume: Infinity } },
  },
  resumeBody: {
    probe: async () => {
      await pause();
      return await status('POST', `/sandboxes/${id}/resume`);
    },
    seen: [201, 400],
  },
  networkInTransition: {
    probe: async () => {
      void pause().catch(() => {});
      await inState('pausing');
      return await status('PUT', `/sandboxes/${id}/network`, {});
    },
    seen: [409, 404],
    more: { delayMs: { pause: Infinity } },
  },
  edgeInTransition: {
    probe: async () => {
      void pause().catch(() => {});
      await inState('pausing');
      return (await unary('List'))[0];
    },
    seen: [409, 502],
    more: { delayMs: { pause: Infinity } },
  },
  pausedStreams: {
    probe: async () => {
      const told = await haunted();
      // A ghost holds up whoever comes later, and its own client hears nothing more.
      const later = await first(new Told('Connect', { process: { pid: told.pid } }), 4);
      return [told.over, later.length > 3];
    },
    seen: [
      [true, true],
      [false, false],
      [true, false],
    ],
  },
  ghostConnect: {
    probe: async () => {
      const { pid } = await haunted();
      while (!(await blocked(pid))) continue;
      return await first(new Told('Connect', { process: { pid } }, { 'keepalive-ping-interval': '1' }), 2);
    },
    seen: [[], ['start']],
    more: { alternatives: { pausedStreams: 'ghost' } },
  },
  tagLookup: {
    probe: async () => {
      await up('exec sleep 100', { tag: 'a' });
      await up('exec sleep 100', { tag: 'b' });
      const seen = new Set<number>();
      for (let round = 0; round < 40; round += 1) seen.add(await selected('a'));
      return [...seen].toSorted((a, b) => a - b);
    },
    seen: [[200, 404], [404], [200]],
  },
  exitMemory: {
    probe: async () => {
      const told = run('exit 3');
      await told.whole();
      return await new Told('Connect', { process: { pid: told.pid } }).whole();
    },
    seen: [['error:not_found'], ['start', 'end', 'last']],
  },
  closedStdin: {
    probe: async () => {
      const { pid } = await up('exec sleep 100');
      await unary('CloseStdin', { process: { pid } });
      const [code, error] = await unary('SendInput', { process: { pid }, input: { stdin: 'YQ==' } });
      return [code, error['code']];
    },
    seen: [
      [500, 'internal'],
      [400, 'failed_precondition'],
    ],
  },
  outputAfterSignal: {
    probe: async () => {
      const told = run('trap "head -c 40000 /dev/zero; exit 0" TERM; echo up; while :; do sleep 0.01; done');
      await told.until(({ output }) => output.includes('up'));
      await unary('SendSignal', { process: { pid: told.pid }, signal: 'SIGNAL_SIGTERM' });
      await told.whole();
      return told.output.length === 40_003;
    },
    seen: [true, false],
  },
  endAfterTimeout: {
    probe: async () => await (await up('exec sleep 100', {}, { 'connect-timeout-ms': '200' })).whole(),
    seen: [
      ['start', 'data', 'error:deadline_exceeded'],
      ['start', 'data', 'end', 'error:deadline_exceeded'],
    ],
  },
  zeroTimeout: {
    probe: async () => {
      const told = run('read -r line', {}, { 'connect-timeout-ms': '0' });
      await told.until(({ log }) => log.length > 0);
      const log = await first(told, 2);
      return [log, emulator.sandbox(id)!.pids.length];
    },
    seen: [
      [['start', 'error:deadline_exceeded'], 1],
      [['start'], 1],
    ],
  },
  zeroKeepalive: {
    probe: async () => await run('true', {}, { 'keepalive-ping-interval': '0' }).whole(),
    seen: [['cut'], ['start', 'end', 'last']],
  },
  terminalStart: {
    probe: async () => {
      const told = run('printf one; read -r line; printf two', { pty: {} });
      // What is lost is lost when it is read.
      await first(told, 2);
      const input = { pty: Buffer.from('\n').toString('base64') };
      await unary('SendInput', { process: { pid: told.pid }, input });
      await told.whole();
      return told.output.includes('one');
    },
    seen: [true, false],
  },
  zeroValues: {
    probe: async () => [(await unary('List'))[1], await exitOf('exit 0')],
    seen: [
      [{}, { exited: true, status: 'exit status 0' }],
      [{ processes: [] }, { exitCode: 0, exited: true, status: 'exit status 0', error: '' }],
    ],
  },
  missingMethod: {
    probe: async () => {
      const [code, error] = await unary('CloseStdin', { process: { pid: 1 } });
      return [code, error['code']];
    },
    seen: [
      [501, 'unimplemented'],
      [404, 404],
    ],
    more: { envdVersion: '0.5.1' },
  },
  downloadGzip: {
    probe: async () => {
      const headers = routed({ 'content-type': 'application/octet-stream' });
      await fetch(`${emulator.url}/files?path=a`, { method: 'POST', headers, body: 'abc' });
      return (await fetch(`${emulator.url}/files?path=a`, { headers: routed() })).headers.get('content-encoding');
    },
    seen: ['gzip', null],
  },
};

async function exitOf(script: string): Promise<unknown> {
  const told = run(script);
  await told.whole();
  return told.events.at(-1)!['end'];
}

/** Whether a process waits because nobody takes what it prints. */
async function blocked(pid: number): Promise<boolean> {
  const before = await writtenBy(pid);
  await run('sleep 0.05').whole();
  return before > 0 && before === (await writtenBy(pid));
}

async function writtenBy(pid: number): Promise<number> {
  return Number(/^wchar: (\d+)/m.exec(await readFile(`/proc/${pid}/io`, 'utf8'))![1]);
}

describe('each alternative', () => {
  test.each(eachAlternative(E2B_ALTERNATIVES))('$name: $value', async ({ name, value, isDefault, choice }) => {
    const { probe, seen, more = {} } = PROBES[name];
    const alternatives = { ...more.alternatives, ...(isDefault ? {} : choice) };
    emulator = await E2bEmulator.start({ ...more, alternatives });
    const v2 = alternatives.v2Paths !== false;
    const made = await control('POST', v2 ? '/v2/sandboxes' : '/sandboxes', { ...V2, ...(v2 ? {} : { secure: true }) });
    const sandbox = (await made.json()) as Record<string, string>;
    id = (sandbox['sandboxID'] ?? sandbox['sandboxId'])!;
    token = sandbox['envdAccessToken']!;
    expect(await probe()).toEqual(seen[(E2B_ALTERNATIVES[name] as readonly unknown[]).indexOf(value)]);
  });

  test('a ghost ends after its time, and what it held up goes on', async () => {
    emulator = await E2bEmulator.start({ ghostMs: 700, alternatives: { pausedStreams: 'ghost' } });
    const sandbox = (await (await control('POST', '/v2/sandboxes', V2)).json()) as Record<string, string>;
    [id, token] = [sandbox['sandboxID']!, sandbox['envdAccessToken']!];
    const told = await up('read -r line; echo one; read -r line; echo two');
    const send = async () => await unary('SendInput', { process: { pid: told.pid }, input: { stdin: 'Cg==' } });
    await pause();
    await resume();
    await send();
    const later = new Told('Connect', { process: { pid: told.pid } });
    await told.until(({ over }) => over);
    await send();
    await later.whole();
    expect([told.log, later.output.endsWith('two\n')]).toEqual([['start', 'data', 'cut'], true]);
    await none();
  });
});
