import { afterEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SandboxError, type SandboxCommand, type SandboxHandle } from '#libs/contract';
import { E2B_ANSWERS, E2B_STREAM_FAULTS, E2bEmulator, redirectTo, type E2bEmulatorOptions } from '#libs/emulators';
import { E2bAdapter } from './e2b.adapter.js';
import { E2bOptions } from './e2b.options.js';

const emulators: E2bEmulator[] = [];
afterEach(async () => {
  await Promise.all(emulators.splice(0).map((one) => one.close()));
});

async function start(options: Partial<E2bEmulatorOptions> = {}): Promise<E2bEmulator> {
  const emulator = await E2bEmulator.start(options);
  emulators.push(emulator);
  return emulator;
}

function client(emulator: E2bEmulator, more: Partial<E2bOptions> = {}): E2bAdapter {
  const urls = { baseUrl: emulator.url, sandboxUrl: emulator.url, domain: 'sandboxes.test' };
  return new E2bAdapter(
    new E2bOptions({ apiKey: emulator.apiKey, ...urls, keepaliveSeconds: 1, retryBaseMs: 5, ...more }),
  );
}

const sh = (script: string): [string, string[]] => ['sh', ['-c', script]];
/** Prints a line for every one that it reads, and ends with 3. */
const ECHO = sh('while IFS= read -r line; do echo "got $line"; done; exit 3');

/** What a command has printed, as it comes. */
class Printed {
  text = '';
  readonly end: Promise<unknown>;
  #wake: () => void = () => {};

  constructor(command: SandboxCommand) {
    this.end = command
      .forEach(({ data }) => {
        this.text += Buffer.from(data).toString('utf8');
        this.#wake();
      })
      .catch((error: unknown) => error);
  }

  async shows(text: string): Promise<void> {
    while (!this.text.includes(text)) await new Promise<void>((wake) => (this.#wake = wake));
  }
}

async function until(probe: () => unknown): Promise<void> {
  while (!(await probe())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** One that nobody has asked for its exit is not. */
function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

const idOf = (emulator: E2bEmulator): string => emulator.ids[0] as string;

describe('the name of a sandbox', () => {
  test('is held by one of two that were made for it at once, and both creators get that one', async () => {
    const emulator = await start({ delayMs: { create: 50 } });
    const handles = await Promise.all([client(emulator), client(emulator)].map((adapter) => adapter.create('box')));
    expect(emulator.calls.matching({ method: 'POST', path: '/v2/sandboxes' })).toHaveLength(2);
    expect(emulator.ids).toHaveLength(1);
    for (const handle of handles) {
      expect((await client(emulator).exec(handle, ...sh('echo here'))).text()).toBe('here\n');
    }
  });

  test.each(['at_once', 'late'] as const)(
    'is given by one of four createNew at once, where a new sandbox is listed %s',
    async (listAfterCreate) => {
      const emulator = await start({ alternatives: { listAfterCreate }, listLagMs: 80, delayMs: { create: 20 } });
      const calls = [1, 2, 3, 4].map(() => client(emulator).createNew('box'));
      const outcomes = await Promise.allSettled(calls);
      const made = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value.instanceId] : []));
      const codes = outcomes.flatMap((one) => (one.status === 'rejected' ? [(one.reason as SandboxError).code] : []));
      expect(made).toEqual(emulator.ids);
      expect(codes).toEqual(['already_exists', 'already_exists', 'already_exists']);
    },
  );

  test('stays with a sandbox that was there before one of an earlier claim was', async () => {
    const emulator = await start();
    const first = await client(emulator).createNew('box');
    // The clock of another machine is behind, and it asked before the first was made.
    const late = emulator.faults.add({ method: 'GET', path: '/v2/sandboxes', answer: { status: 200, json: [] } });
    const clock = Date.now;
    Date.now = () => clock() - 60_000;
    const second = client(emulator)
      .create('box')
      .finally(() => (Date.now = clock));
    const handle = await second;
    expect(late.hits).toBe(1);
    expect(emulator.ids).toEqual([first.instanceId]);
    expect((await client(emulator).get(handle)).status).toBe('running');
  }, 20_000);

  test('is found again after the answer to its creation was lost, and nothing is made twice', async () => {
    const emulator = await start();
    emulator.faults.add({ method: 'POST', path: '/v2/sandboxes', reset: true, effect: 'applied' });
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    expect(emulator.ids).toHaveLength(1);
    expect((await adapter.exec(handle, 'true')).exitCode).toBe(0);
  });

  test('is not one of a sandbox that something else made', async () => {
    const emulator = await start();
    const headers = { 'x-api-key': emulator.apiKey, 'content-type': 'application/json' };
    const body = JSON.stringify({ templateID: 'base', metadata: { name: 'box' } });
    await fetch(`${emulator.url}/v2/sandboxes`, { method: 'POST', headers, body });
    const adapter = client(emulator);
    expect(await adapter.listAllNames()).toEqual([]);
    await expect(adapter.get(adapter.buildHandle('box'))).rejects.toMatchObject({ code: 'not_found' });
    await adapter.destroy(adapter.buildHandle('box'));
    expect(emulator.ids).toHaveLength(1);
  });

  test('is looked for on every page, in the order in which none is missed', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const names = Array.from({ length: 103 }, (_, i) => `box-${i}`);
    for (const name of names) await adapter.createNew(name);
    expect((await adapter.listAllNames()).toSorted()).toEqual(names.toSorted());
    const pages = emulator.calls.matching({ method: 'GET', path: '/v2/sandboxes' }).slice(-2);
    expect(pages.map(({ query }) => [query.get('order'), query.has('nextToken')])).toEqual([
      ['asc', false],
      ['asc', true],
    ]);
  });

  test('has no list when the pages do not come to an end', async () => {
    const emulator = await start();
    emulator.faults.add({
      method: 'GET',
      path: '/v2/sandboxes',
      answer: { status: 200, headers: { 'x-next-token': 'again' }, json: [] },
      times: Infinity,
    });
    await expect(client(emulator).listAllNames()).rejects.toMatchObject({ code: 'truncated', effect: 'none' });
  });
});

describe('a sandbox that is paused', () => {
  const parked = async (): Promise<[E2bEmulator, E2bAdapter, SandboxHandle]> => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    await adapter.writeFile(handle, 'file', 'content');
    await emulator.expire(idOf(emulator));
    return [emulator, adapter, handle];
  };

  test.each<[string, (adapter: E2bAdapter, handle: SandboxHandle) => Promise<unknown>, unknown]>([
    ['exec', async (a, h) => (await a.exec(h, 'cat', ['file'])).text(), 'content'],
    ['readFile', async (a, h) => Buffer.from(await a.readFile(h, 'file')).toString(), 'content'],
    ['statFile', async (a, h) => (await a.statFile(h, 'file')).size, 7],
    ['writeFile', (a, h) => a.writeFile(h, 'file', 'new'), undefined],
    ['listSessions', (a, h) => a.listSessions(h), []],
    ['applyNetworkPolicy', (a, h) => a.applyNetworkPolicy(h, { allow: ['example.com'] }), undefined],
    ['terminateSession', (a, h) => a.terminateSession(h, `7-${'0'.repeat(32)}`), undefined],
    ['publicUrl', async (a, h) => new URL(await a.publicUrl(h, { port: 80 })).host.split('-')[0], '80'],
  ])('is woken by %s, whether or not its state was known', async (_, call, expected) => {
    const [emulator, adapter, handle] = await parked();
    expect(await call(adapter, handle)).toEqual(expected);
    expect(emulator.sandbox(idOf(emulator))?.state).toBe('running');
    await emulator.expire(idOf(emulator));
    expect(await call(client(emulator), adapter.buildHandle('box'))).toEqual(expected);
    expect(emulator.sandbox(idOf(emulator))?.state).toBe('running');
  });

  test('is left so by get, listAllNames and destroy', async () => {
    const [emulator, adapter, handle] = await parked();
    expect((await adapter.get(handle)).status).toBe('suspended');
    expect(await adapter.listAllNames()).toEqual(['box']);
    await adapter.destroy(handle);
    expect(emulator.ids).toEqual([]);
    expect(emulator.calls.matching({ path: /connect$/ })).toEqual([]);
  });

  test('was paused although the node was busy at first', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    emulator.faults.add({ method: 'POST', path: '/sandboxes/:id/pause', answer: E2B_ANSWERS.busy, times: 2 });
    await adapter.suspend(handle);
    expect(emulator.sandbox(idOf(emulator))?.state).toBe('paused');
  });

  test('is not claimed where the pause lost it', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    emulator.breakNextPause(idOf(emulator));
    await expect(adapter.suspend(handle)).rejects.toMatchObject({ code: 'not_found', effect: 'unknown' });
  });
});

describe('a command', () => {
  test.each(['cut', 'ghost', 'half_ghost'] as const)(
    'goes on over a suspend, and no stream is left open (%s)',
    async (pausedStreams) => {
      const emulator = await start({ alternatives: { pausedStreams } });
      const adapter = client(emulator);
      const handle = await adapter.create('box');
      const command = await adapter.spawn(handle, ...ECHO, { stdin: true, detachable: true });
      const printed = new Printed(command);
      const joined = new Printed(await adapter.attach(handle, command.sessionId as string));
      await command.writeStdin('one\n');
      await Promise.all([printed.shows('got one\n'), joined.shows('got one\n')]);
      expect(adapter.stats().openStreams).toBe(2);
      await adapter.suspend(handle);
      expect(adapter.stats().openStreams).toBe(0);
      expect(emulator.sandbox(idOf(emulator))?.state).toBe('paused');
      await adapter.resume(handle);
      await command.writeStdin('two\n');
      await Promise.all([printed.shows('got two\n'), joined.shows('got two\n')]);
      await command.closeStdin();
      expect(await Promise.all([printed.end, joined.end])).toEqual([{ exitCode: 3 }, { exitCode: 3 }]);
      expect([printed.text, joined.text]).toEqual(['got one\ngot two\n', 'got one\ngot two\n']);
      await until(() => adapter.stats().stdinOwners === 0);
    },
    30_000,
  );

  test.each(['cut', 'ghost', 'half_ghost'] as const)(
    'wakes its sandbox when its time was over, and nothing is lost or doubled (%s)',
    async (pausedStreams) => {
      const emulator = await start({ alternatives: { pausedStreams } });
      const adapter = client(emulator);
      const handle = await adapter.create('box');
      const command = await adapter.spawn(handle, ...ECHO, { stdin: true });
      const printed = new Printed(command);
      await command.writeStdin('one\n');
      await printed.shows('got one\n');
      await emulator.expire(idOf(emulator));
      await command.writeStdin('two\n');
      await command.closeStdin();
      expect(await printed.end).toEqual({ exitCode: 3 });
      expect(printed.text).toBe('got one\ngot two\n');
    },
    30_000,
  );

  test('keeps its sandbox alive while it runs, and nobody does afterwards', async () => {
    const emulator = await start();
    const adapter = client(emulator, { ttlSeconds: 3 });
    const handle = await adapter.create('box');
    const command = await adapter.spawn(handle, ...ECHO, { stdin: true });
    const printed = new Printed(command);
    await emulator.calls.arrived({ method: 'POST', path: '/sandboxes/:id/timeout' }, 8);
    expect(emulator.sandbox(idOf(emulator))?.state).toBe('running');
    await command.closeStdin();
    expect(await printed.end).toEqual({ exitCode: 3 });
    await until(() => emulator.sandbox(idOf(emulator))?.state === 'paused');
    expect(emulator.calls.matching({ path: /connect$/ })).toEqual([]);
    expect(adapter.stats()).toEqual({ sandboxesInUse: 0, openStreams: 0, stdinOwners: 0 });
  }, 30_000);

  test('never takes time away that somebody else gave', async () => {
    const emulator = await start();
    const adapter = client(emulator, { ttlSeconds: 4 });
    const handle = await adapter.create('box');
    const headers = { 'x-api-key': emulator.apiKey, 'content-type': 'application/json' };
    const body = JSON.stringify({ timeout: 3600 });
    await fetch(`${emulator.url}/sandboxes/${idOf(emulator)}/timeout`, { method: 'POST', headers, body });
    const command = await adapter.spawn(handle, ...ECHO, { stdin: true });
    await emulator.calls.arrived({ method: 'GET', path: '/sandboxes/:id' }, 3);
    expect(emulator.sandbox(idOf(emulator))?.endAt.getTime()).toBeGreaterThan(Date.now() + 3_000_000);
    await command.stop();
  }, 30_000);

  test.each([
    ['cut before the exit', E2B_STREAM_FAULTS.cutBeforeEnd],
    ['cut behind the exit', E2B_STREAM_FAULTS.cutAfterEnd],
    ['without a last envelope', E2B_STREAM_FAULTS.noLastEnvelope],
    ['split into bytes', E2B_STREAM_FAULTS.splitFrames],
    ['in one chunk', E2B_STREAM_FAULTS.joinedFrames()],
    ['with events that nobody knows', E2B_STREAM_FAULTS.unknownEvents],
  ])('gives every byte once and its true exit where its stream is %s', async (_, rewrite) => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    emulator.faults.add({ method: 'POST', path: '/process.Process/Start', rewrite });
    const result = adapter.exec(
      handle,
      ...sh('i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo "naïve $i"; done; exit 7'),
    );
    const expected = Array.from({ length: 300 }, (__, i) => `naïve ${i + 1}\n`).join('');
    const { exitCode, output } = await result;
    expect([exitCode, Buffer.from(output).toString()]).toEqual([7, expected]);
  });

  test('of which the stream is cut before its shim has spoken, may run or not', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const rewrite = E2B_STREAM_FAULTS.cutInFrame;
    emulator.faults.add({ method: 'POST', path: '/process.Process/Start', rewrite });
    await expect(adapter.exec(handle, 'true')).rejects.toMatchObject({ code: 'unavailable', effect: 'unknown' });
  });

  test('whose stream is cut before anything started has not run, and leaves no shell behind', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const rewrite = E2B_STREAM_FAULTS.cutBeforeStart;
    emulator.faults.add({ method: 'POST', path: '/process.Process/Start', rewrite });
    await expect(adapter.exec(handle, 'true')).rejects.toMatchObject({ code: 'unavailable', effect: 'none' });
    await until(() => emulator.sandbox(idOf(emulator))?.pids.length === 0);
  });

  test('that left no exit has none', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const command = await adapter.spawn(handle, ...sh('echo ready; exec sleep 600'), { detachable: true });
    const printed = new Printed(command);
    await printed.shows('ready\n');
    // Nobody of us: the shim is killed with all that it started.
    process.kill(-Number((command.sessionId as string).split('-')[0]), 'SIGKILL');
    expect(await printed.end).toMatchObject({ code: 'unavailable', detail: 'session_lost' });
  }, 30_000);

  test('is not shown to who lists the processes of its sandbox, with its arguments and variables', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const command = await adapter.spawn(handle, 'sleep', ['600'], { env: { SECRET: 'hunter2' }, detachable: true });
    const [session] = await adapter.listSessions(handle);
    expect(session).toEqual({ id: command.sessionId, command: 'sleep 600', tty: false });
    const detail = await (
      await fetch(`${emulator.url}/sandboxes/${idOf(emulator)}`, { headers: { 'x-api-key': emulator.apiKey } })
    ).json();
    const list = await fetch(`${emulator.url}/process.Process/List`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'e2b-sandbox-id': idOf(emulator),
        'e2b-sandbox-port': '49983',
        'x-access-token': (detail as { envdAccessToken: string }).envdAccessToken,
      },
      body: '{}',
    });
    expect(await list.text()).not.toContain('hunter2');
    await command.stop();
  });

  test('is terminated with all of its session, confirmed, while another of its sandbox is left alone', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const [one, other] = await Promise.all(
      [1, 2].map(() => adapter.spawn(handle, ...sh('sleep 600 & echo $!; wait'), { detachable: true })),
    );
    const printed = new Printed(one as SandboxCommand);
    await printed.shows('\n');
    const child = Number(printed.text);
    expect(isAlive(child)).toBe(true);
    await adapter.terminateSession(handle, one?.sessionId as string);
    expect(isAlive(child)).toBe(false);
    expect((await adapter.listSessions(handle)).map(({ id }) => id)).toEqual([other?.sessionId]);
    expect(await printed.end).toMatchObject({ exitCode: 143 });
    await other?.stop();
  });

  test('leaves no reader of its journal behind when whoever read it has left', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const command = await adapter.spawn(handle, ...ECHO, { stdin: true, detachable: true });
    const viewers = await Promise.all([1, 2, 3].map(() => adapter.attach(handle, command.sessionId as string)));
    expect(emulator.sandbox(idOf(emulator))?.pids).toHaveLength(4);
    await Promise.all(viewers.map((viewer) => viewer.stop()));
    await until(() => emulator.sandbox(idOf(emulator))?.pids.length === 1);
    await command.stop();
    await until(() => adapter.stats().sandboxesInUse === 0);
  });
});

test('of execs, timers and streams included, nothing is left', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const inUse = (): string[] => process.getActiveResourcesInfo().filter((one) => one === 'Timeout');
  await adapter.exec(handle, 'true');
  await until(() => adapter.stats().sandboxesInUse === 0);
  const before = inUse().length;
  for (let i = 0; i < 8; i += 1) {
    await Promise.all(
      Array.from({ length: 4 }, () => adapter.exec(handle, 'cat', [], { stdin: 'x', timeoutMs: 60_000 })),
    );
  }
  await until(() => adapter.stats().sandboxesInUse === 0);
  expect(inUse().length).toBeLessThanOrEqual(before);
  expect(adapter.stats()).toEqual({ sandboxesInUse: 0, openStreams: 0, stdinOwners: 0 });
});

describe('the credentials', () => {
  test('go nowhere else: a redirect is an answer that is not understood', async () => {
    const emulator = await start();
    const seen: unknown[] = [];
    const elsewhere = createServer((request, response) => {
      seen.push(request.headers);
      response.end('[]');
    });
    elsewhere.listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    const url = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
    try {
      const adapter = client(emulator);
      const handle = await adapter.create('box');
      emulator.faults.add({ method: 'GET', answer: redirectTo(url), times: Infinity });
      emulator.faults.add({ path: '/process.Process/*', answer: redirectTo(url), times: Infinity });
      const misunderstood = expect.objectContaining({ code: 'provider', detail: 'malformed_reply' });
      await expect(adapter.listAllNames()).rejects.toEqual(misunderstood);
      await expect(adapter.exec(handle, 'true')).rejects.toEqual(misunderstood);
      expect(seen).toEqual([]);
    } finally {
      elsewhere.close();
    }
  });

  test('of the control plane are not sent into a sandbox', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    await adapter.exec(handle, 'true');
    await adapter.writeFile(handle, 'file', 'x');
    expect(emulator.sandbox(idOf(emulator))?.apiKeysSeen).toBe(0);
  });

  test('are not in what get passes on', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const made = await adapter.createNew('box');
    const { raw } = await adapter.get(made);
    expect(raw).toMatchObject({ sandboxID: made.instanceId, state: 'running' });
    expect(JSON.stringify(raw)).not.toContain('envdAccessToken');
  });
});

describe('what the service says in passing', () => {
  test('such as a 502 that means nothing, is asked about and waited out', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const answer = E2B_ANSWERS.noRoute(idOf(emulator));
    const fault = emulator.faults.add({ path: /^\/(?:process|files|filesystem)/, answer, times: 3 });
    expect((await adapter.exec(handle, ...sh('exit 4'))).exitCode).toBe(4);
    expect(fault.hits).toBe(3);
  });

  test('such as a 429 with a time, is waited for', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    emulator.faults.add({ method: 'GET', path: '/v2/sandboxes', answer: E2B_ANSWERS.rateLimited(1) });
    const startedAtMs = performance.now();
    expect(await adapter.listAllNames()).toEqual([]);
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(990);
  });

  test('such as a page of a load balancer, is no more than unavailable', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    emulator.faults.add({ method: 'GET', answer: E2B_ANSWERS.gatewayTimeout, times: Infinity });
    await expect(adapter.get(handle)).rejects.toMatchObject({ code: 'unavailable', effect: 'none' });
  });

  test('as to a template that is not there, is not about a sandbox', async () => {
    const emulator = await start();
    const adapter = client(emulator, { template: 'nothing-of-the-kind' });
    await expect(adapter.create('box')).rejects.toMatchObject({ code: 'invalid', effect: 'none' });
  });
});

describe('the settings', () => {
  test('name the user of commands and of files', async () => {
    const emulator = await start();
    const adapter = client(emulator, { user: 'root' });
    const handle = await adapter.create('box');
    await adapter.writeFile(handle, 'file', 'of root');
    const { output } = await adapter.exec(handle, ...sh('echo "${HOME##*/} $(cat file)"'));
    expect(Buffer.from(output).toString()).toBe('root of root\n');
    const stranger = client(emulator, { user: 'sprite' });
    await expect(stranger.exec(handle, 'true')).rejects.toMatchObject({ code: 'denied', effect: 'none' });
  });

  test('leave the domain to the service, where it says one', async () => {
    const emulator = await start({ domain: 'of.the.service' });
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    expect(await adapter.publicUrl(handle, { port: 8080 })).toBe(`http://8080-${idOf(emulator)}.of.the.service`);
  });

  test('without a domain or a host do not reach into a sandbox, and say so', async () => {
    const emulator = await start();
    const adapter = client(emulator, { domain: undefined, sandboxUrl: undefined });
    const handle = await adapter.create('box');
    expect(emulator.ids).toHaveLength(1);
    await expect(adapter.exec(handle, 'true')).rejects.toMatchObject({ code: 'invalid', effect: 'none' });
  });

  test('without a domain give no public URL', async () => {
    const emulator = await start();
    const adapter = client(emulator, { domain: undefined });
    const refused = expect.objectContaining({ code: 'not_supported', effect: 'none' });
    await expect(adapter.publicUrl(await adapter.create('box'), { port: 8080 })).rejects.toEqual(refused);
  });

  test('may name a template whose daemon is too old to close a stdin, which then says so', async () => {
    const emulator = await start({ envdVersion: '0.5.1' });
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    await adapter.writeFile(handle, 'file', 'x');
    expect((await adapter.exec(handle, 'cat', ['file'])).text()).toBe('x');
    const command = await adapter.spawn(handle, ...ECHO, { stdin: true });
    const printed = new Printed(command);
    await command.writeStdin('one\n');
    await printed.shows('got one\n');
    await expect(command.closeStdin()).rejects.toMatchObject({ code: 'not_supported', effect: 'none' });
    await command.stop();
  });
});

test('checkpoints are refused, since none is restored in place', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const before = emulator.calls.all.length;
  const refused = expect.objectContaining({ code: 'not_supported', effect: 'none' });
  await expect(adapter.createCheckpoint(handle)).rejects.toEqual(refused);
  await expect(adapter.restoreCheckpoint(handle, 'v1')).rejects.toEqual(refused);
  expect(emulator.calls.all).toHaveLength(before);
});
