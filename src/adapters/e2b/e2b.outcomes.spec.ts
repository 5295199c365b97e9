import { afterEach, describe, expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxHandle } from '#libs/contract';
import {
  E2B_ANSWERS,
  E2B_STREAM_FAULTS,
  E2bEmulator,
  type Answer,
  type E2bEmulatorOptions,
  type StreamRewrite,
} from '#libs/emulators';
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
  const urls = { baseUrl: emulator.url, sandboxUrl: emulator.url };
  return new E2bAdapter(
    new E2bOptions({ apiKey: emulator.apiKey, ...urls, keepaliveSeconds: 1, retryBaseMs: 5, ...more }),
  );
}

async function api(emulator: E2bEmulator, method: string, path: string, json?: object): Promise<unknown> {
  const headers = { 'x-api-key': emulator.apiKey, 'content-type': 'application/json' };
  const body = json && JSON.stringify(json);
  const answer = await fetch(`${emulator.url}${path}`, { method, headers, ...(body && { body }) });
  return answer.status === 204 ? undefined : answer.json();
}

async function until(probe: () => unknown): Promise<void> {
  while (!(await probe())) await new Promise((resolve) => setTimeout(resolve, 5));
}

const sh = (script: string): [string, string[]] => ['sh', ['-c', script]];
const LIST = { method: 'GET', path: '/v2/sandboxes' } as const;
const GET = { method: 'GET', path: '/sandboxes/:id' } as const;
const CREATE = { method: 'POST', path: '/v2/sandboxes' } as const;
const PAUSE = { method: 'POST', path: '/sandboxes/:id/pause' } as const;
const START = { method: 'POST', path: '/process.Process/Start' } as const;
const PROCESSES = { method: 'POST', path: '/process.Process/List' } as const;
const INPUT = { method: 'POST', path: '/process.Process/SendInput' } as const;
const MALFORMED = { code: 'provider', detail: 'malformed_reply' };
const REFUSED = { status: 401, json: { code: 401, message: 'no' } };
const MISSING = { status: 404, json: { code: 404, message: 'no such page' } };

test('a file whose content can be read once is whole in the sandbox that took the place of another', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  await adapter.exec(handle, 'true');
  const other = client(emulator);
  await other.destroy(other.buildHandle('box'));
  const fresh = await other.create('box');
  async function* content(): AsyncGenerator<string> {
    yield 'all ';
    yield 'of it';
  }
  await adapter.writeFile(handle, 'file', content());
  expect(Buffer.from(await other.readFile(fresh, 'file')).toString()).toBe('all of it');
});

test('a path that no system takes is refused before anything is sent', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  emulator.calls.clear();
  const writing = adapter.writeFile(handle, `${'d/'.repeat(2048)}f`, 'content');
  await expect(writing).rejects.toMatchObject({ code: 'invalid', detail: 'argument', effect: 'none' });
  expect(emulator.calls.all).toEqual([]);
});

describe('what was done before a refusal is not denied', () => {
  test('by a creation', async () => {
    const emulator = await start();
    emulator.faults.add({ ...LIST, nth: 2, times: 99, answer: REFUSED });
    await expect(client(emulator).create('box')).rejects.toMatchObject({ code: 'denied', effect: 'unknown' });
    expect(emulator.ids).toHaveLength(1);
  });

  test('by a network policy', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    emulator.faults.add({ ...GET, times: 99, answer: REFUSED });
    const applying = adapter.applyNetworkPolicy(handle, { allow: [] });
    await expect(applying).rejects.toMatchObject({ code: 'unavailable', effect: 'unknown' });
    expect(emulator.sandbox(emulator.ids[0] as string)?.network).toMatchObject({ denyOut: ['0.0.0.0/0'] });
  });

  test.each([
    ['deletion', 'destroy', { method: 'DELETE', path: '/sandboxes/:id' }],
    ['pause', 'suspend', PAUSE],
    ['connect', 'resume', { method: 'POST', path: '/v2/sandboxes/:id/connect' }],
  ] as const)('by a %s', async (_, operation, call) => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    emulator.faults.add({ ...call, reset: true, effect: 'applied' });
    emulator.faults.add({ ...call, nth: 2, times: 99, answer: REFUSED });
    await expect(adapter[operation](handle)).rejects.toMatchObject({ code: 'denied', effect: 'unknown' });
  });
});

describe('what was not begun, since its sandbox could not be looked up, has done nothing', () => {
  test.each<[string, (adapter: E2bAdapter, handle: SandboxHandle) => Promise<unknown>]>([
    ['exec', (a, h) => a.exec(h, 'true')],
    ['spawn', (a, h) => a.spawn(h, 'true')],
    ['writeFile', (a, h) => a.writeFile(h, 'file', 'content')],
    ['applyNetworkPolicy', (a, h) => a.applyNetworkPolicy(h, { allow: [] })],
    ['suspend', (a, h) => a.suspend(h)],
    ['resume', (a, h) => a.resume(h)],
  ])('such as %s', async (operation, call) => {
    const emulator = await start();
    await client(emulator).create('box');
    for (const lookup of operation === 'suspend' ? [LIST] : [LIST, GET]) {
      const adapter = client(emulator);
      const down = emulator.faults.add({ ...lookup, times: 99, answer: { status: 500 } });
      const calling = call(adapter, adapter.buildHandle('box'));
      await expect(calling).rejects.toMatchObject({ code: 'unavailable', effect: 'none', operation });
      down.remove();
    }
  });
});

describe('a creation that goes on after its answer was lost', () => {
  /** What was lost is there again behind what was made in its place. */
  async function twins(emulator: E2bEmulator): Promise<{ handle: SandboxHandle; given: string }> {
    emulator.faults.add({ ...CREATE, effect: 'applied', answer: E2B_ANSWERS.gatewayTimeout });
    const hidden = emulator.faults.add({ ...LIST, times: 999, answer: { status: 200, json: [] } });
    const creating = client(emulator).create('box');
    await until(() => emulator.ids.length === 1);
    const lost = emulator.ids[0] as string;
    const metadata = emulator.sandbox(lost)?.metadata;
    await api(emulator, 'DELETE', `/sandboxes/${lost}`);
    hidden.remove();
    const handle = await creating;
    const given = emulator.ids[0] as string;
    await api(emulator, 'POST', '/v2/sandboxes', { templateID: 'base', metadata });
    expect(emulator.ids).toHaveLength(2);
    return { handle, given };
  }

  test('takes the name from nobody who was given it', async () => {
    const emulator = await start();
    const { handle, given } = await twins(emulator);
    const other = client(emulator);
    expect((await other.get(handle)).raw).toMatchObject({ sandboxID: given });
    emulator.calls.clear();
    expect((await other.get(handle)).raw).toMatchObject({ sandboxID: given });
    expect(emulator.calls.matching(LIST)).toHaveLength(1);
    await api(emulator, 'DELETE', `/sandboxes/${given}`);
    expect((await other.get(handle)).raw).toMatchObject({ sandboxID: emulator.ids[0] });
  }, 20_000);

  test('is destroyed with what took its place', async () => {
    const emulator = await start();
    const { handle } = await twins(emulator);
    await client(emulator).destroy(handle);
    expect(emulator.ids).toEqual([]);
  }, 20_000);
});

test.each(['create', 'createNew'] as const)(
  '%s deletes nothing else, whatever id it was told',
  async (how) => {
    const emulator = await start();
    const adapter = client(emulator);
    const { instanceId: other } = await adapter.createNew('other');
    emulator.faults.add({ ...CREATE, effect: 'applied', answer: { status: 201, json: { sandboxID: other } } });
    const making = adapter[how]('box').then(
      () => 'made',
      ({ code, effect }: { code: string; effect: string }) => `${code} ${effect}`,
    );
    expect(await making).toBe(how === 'create' ? 'made' : 'unavailable unknown');
    expect(emulator.ids).toHaveLength(2);
    expect(emulator.ids[0]).toBe(other);
  },
  20_000,
);

describe('a list', () => {
  test.each([
    ['that is not there', MISSING],
    ['that is a part', { status: 206, json: [] }],
    ['that has yet to be made', { status: 202, json: [] }],
  ])('%s says nothing of a sandbox', async (_, answer) => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    emulator.faults.add({ ...LIST, times: 99, answer });
    await expect(adapter.get(handle)).rejects.toMatchObject(MALFORMED);
    await expect(adapter.destroy(handle)).rejects.toMatchObject(MALFORMED);
    await expect(adapter.listAllNames()).rejects.toMatchObject(MALFORMED);
    expect(emulator.ids).toHaveLength(1);
  });
});

test.each(['..', '.', 'a/b', 'I1'])('%p is the id of no sandbox, and is not asked for', async (instanceId) => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = { ...adapter.buildHandle('box'), instanceId };
  await expect(adapter.get(handle)).rejects.toMatchObject({ code: 'not_found' });
  await adapter.destroy(handle);
  expect(emulator.calls.all).toEqual([]);
});

describe('a destroyed sandbox', () => {
  test('is waited for until no list has it', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const json = await api(emulator, 'GET', '/v2/sandboxes');
    const late = emulator.faults.add({ ...LIST, times: 999, answer: { status: 200, json } });
    emulator.calls.clear();
    const destroying = adapter.destroy(handle).then(() => late.hits);
    await emulator.calls.arrived(LIST, 12);
    expect(emulator.ids).toEqual([]);
    late.remove();
    expect(await destroying).toBeGreaterThanOrEqual(12);
  });

  test('is waited for until it is not shown by its id', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.createNew('box');
    const json = await api(emulator, 'GET', `/sandboxes/${handle.instanceId}`);
    const late = emulator.faults.add({ ...GET, times: 999, answer: { status: 200, json } });
    const destroying = adapter.destroy(handle).then(() => late.hits);
    await emulator.calls.arrived({ method: 'DELETE', path: '/sandboxes/:id' });
    await emulator.calls.arrived(GET, 6);
    late.remove();
    expect(await destroying).toBeGreaterThanOrEqual(5);
  });
});

describe('a pause', () => {
  test('that somebody else has asked for is not over because it is shown, and may fail', async () => {
    const emulator = await start({ delayMs: { pause: Infinity } });
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const id = emulator.ids[0] as string;
    emulator.breakNextPause(id);
    const other = api(emulator, 'POST', `/sandboxes/${id}/pause`, {});
    await until(() => emulator.sandbox(id)?.state === 'pausing');
    const suspended = adapter.suspend(handle).catch((error: unknown) => error);
    await emulator.calls.arrived(PAUSE, 2);
    // What is answered now came after it.
    await api(emulator, 'GET', '/v2/sandboxes');
    await emulator.finish(id);
    expect(await suspended).toMatchObject({ code: 'not_found', effect: 'unknown' });
    await other;
  });

  test('of which the answer was lost is asked for again', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const id = emulator.ids[0] as string;
    const shown = Object(await api(emulator, 'GET', `/sandboxes/${id}`)) as object;
    emulator.faults.add({ ...PAUSE, reset: true });
    emulator.faults.add({ ...GET, answer: { status: 200, json: { ...shown, state: 'paused' } } });
    await adapter.suspend(handle);
    expect(emulator.sandbox(id)?.state).toBe('paused');
    expect(emulator.calls.matching(PAUSE)).toHaveLength(2);
  });

  test.each([{ status: 200, html: '<html>welcome</html>' }, { status: 202 }])('is not what %j says', async (answer) => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const page = emulator.faults.add({ ...PAUSE, times: 99, answer });
    await expect(adapter.suspend(handle)).rejects.toMatchObject({ code: 'unavailable', effect: 'unknown' });
    page.remove();
    await adapter.suspend(handle);
    expect(emulator.sandbox(emulator.ids[0] as string)?.state).toBe('paused');
  });

  test('of one that is paused is over, and wakes nobody', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    await adapter.suspend(handle);
    await client(emulator).suspend(handle);
    expect(emulator.sandbox(emulator.ids[0] as string)?.state).toBe('paused');
    expect(emulator.calls.matching({ path: /connect$/ })).toEqual([]);
  });
});

describe('a call to wake a sandbox that the service does not have', () => {
  const CONNECT = { method: 'POST', path: /connect$/ } as const;
  const V1 = { method: 'POST', path: '/sandboxes/:id/connect' } as const;
  const NO_CALL: [string, Answer][] = [
    ['404 in its own words', MISSING],
    ['404 by a page', { status: 404, html: '<html>404 page not found</html>' }],
    ['405', { status: 405 }],
    ['410', { status: 410, json: { code: 410, message: 'gone' } }],
    ['501', { status: 501, json: { code: 501, message: 'not implemented' } }],
  ];

  test.each(NO_CALL)('is no sign that a sandbox is gone: %s', async (_, answer) => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    await adapter.writeFile(handle, 'file', 'content');
    await adapter.suspend(handle);
    const missing = emulator.faults.add({ ...CONNECT, times: 99, answer });
    for (const one of [adapter, client(emulator)]) {
      const said = { code: 'provider', detail: 'malformed_reply', effect: 'none' };
      await expect(one.resume(handle)).rejects.toMatchObject(said);
      await expect(one.readFile(handle, 'file')).rejects.toMatchObject(said);
      expect(await one.get(handle)).toMatchObject({ status: 'suspended' });
    }
    missing.remove();
    await adapter.resume(handle);
    expect(Buffer.from(await adapter.readFile(handle, 'file')).toString()).toBe('content');
  });

  test.each(NO_CALL)('hides no sandbox that is gone: %s by the older path', async (_, answer) => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.createNew('box');
    await api(emulator, 'DELETE', `/sandboxes/${handle.instanceId}`);
    emulator.faults.add({ ...V1, times: 99, answer });
    await expect(adapter.resume(handle)).rejects.toMatchObject({ code: 'not_found', effect: 'none' });
    expect(emulator.calls.matching(CONNECT)).toHaveLength(2);
  });

  test('says nothing where the look at the sandbox fails', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.createNew('box');
    await api(emulator, 'DELETE', `/sandboxes/${handle.instanceId}`);
    const look = emulator.faults.add({ ...GET, times: 99, answer: { status: 503 } });
    await expect(adapter.resume(handle)).rejects.toMatchObject({ code: 'unavailable' });
    look.remove();
    await expect(adapter.resume(handle)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('a call that is about nothing that could be missing', () => {
  const word = { status: 404, json: { code: 'not_found', message: 'no' } };

  test.each([
    ['a page', MISSING],
    ['the word of envd', word],
  ])('is not answered by %s with a 404', async (_, answer) => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const command = await adapter.spawn(handle, 'sleep', ['600'], { detachable: true });
    const list = emulator.faults.add({ ...PROCESSES, times: 99, answer });
    await expect(adapter.listSessions(handle)).rejects.toMatchObject(MALFORMED);
    list.remove();
    emulator.faults.add({ ...START, times: 99, answer });
    await expect(adapter.exec(handle, 'true')).rejects.toMatchObject({ ...MALFORMED, effect: 'none' });
    const ending = adapter.terminateSession(handle, command.sessionId as string);
    await expect(ending).rejects.toMatchObject({ code: 'unavailable', effect: 'unknown' });
    await command.stop();
  });

  test('of which a gateway has a long page is what its status says', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const headers = { 'retry-after': '7' };
    emulator.faults.add({ ...START, answer: { status: 429, headers, html: 'x'.repeat(200_000) } });
    await expect(adapter.exec(handle, 'true')).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 7_000 });
    emulator.faults.add({ ...START, answer: { status: 403, html: 'x'.repeat(200_000) } });
    await expect(adapter.exec(handle, 'true')).rejects.toMatchObject({ code: 'denied' });
  });
});

test('a page that a gateway answers to input is no word that it was taken', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const command = await adapter.spawn(handle, 'cat', [], { stdin: true });
  const answer = { status: 200, html: '<html>welcome</html>' };
  emulator.faults.add({ ...INPUT, answer });
  await expect(command.writeStdin('abc')).rejects.toMatchObject({ ...MALFORMED, effect: 'unknown' });
  emulator.faults.add({ method: 'POST', path: '/process.Process/CloseStdin', answer });
  await expect(command.closeStdin()).rejects.toMatchObject(MALFORMED);
  await command.closeStdin();
  expect(await command.drain()).toEqual({ exitCode: 0 });
});

/** Replaces what a stream says the first time. */
function once(has: string, change: (message: Record<string, unknown>) => object[]): StreamRewrite {
  let isDone = false;
  return (step) => {
    if (isDone || !('data' in step) || !step.data.includes(has)) return [step];
    isDone = true;
    const messages = change(JSON.parse(step.data.subarray(5).toString()) as Record<string, unknown>);
    return messages.map((message) => ({ data: framed(message), binary: true }));
  };
}

function framed(message: object): Buffer {
  const payload = Buffer.from(JSON.stringify(message));
  const head = Buffer.of(0, 0, 0, 0, 0);
  head.writeUInt32BE(payload.byteLength, 1);
  return Buffer.concat([head, payload]);
}

test('the input of a command goes where its first start says', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const another = { event: { start: { pid: 4_000_000 } } };
  emulator.faults.add({ ...START, rewrite: once('"start":', (message) => [message, another]) });
  expect((await adapter.exec(handle, 'cat', [], { stdin: 'abc' })).text()).toBe('abc');
});

test.each([
  ['no base64', '!!!!'],
  ['half of a byte', 'QUJDR'],
  ['a number', 7],
])('output that is %s is read again from what was kept', async (_, stdout) => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const rewrite = once('"data":', (message) => [message]);
  const broken: StreamRewrite = (step, index) => {
    // The first output is the word of the shim.
    if (!('data' in step) || !step.data.includes('"data":') || index < 2) return rewrite(step, index);
    return [{ data: framed({ event: { data: { stdout } } }), binary: true }];
  };
  emulator.faults.add({ ...START, rewrite: broken });
  const { exitCode, output } = await adapter.exec(handle, ...sh('sleep 0.2; seq 5000; exit 3'));
  expect(exitCode).toBe(3);
  expect(Buffer.from(output).toString()).toBe(`${Array.from({ length: 5000 }, (__, i) => i + 1).join('\n')}\n`);
});

test('a session is not stopped by an id that has the number of another process', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const command = await adapter.spawn(handle, 'sleep', ['600'], { detachable: true });
  const [pid, nonce] = (command.sessionId as string).split('-');
  const ending = adapter.terminateSession(handle, `${Number(pid) + 1}-${nonce}`);
  await expect(ending).rejects.toMatchObject({ code: 'not_found', effect: 'none' });
  expect(await adapter.listSessions(handle)).toMatchObject([{ id: command.sessionId }]);
  await command.stop();
});

test('a shell that nobody has heard of is looked for until it is there, and ended', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  emulator.faults.add({ ...START, rewrite: E2B_STREAM_FAULTS.cutBeforeStart });
  const early = emulator.faults.add({ ...PROCESSES, answer: { status: 200, json: {} } });
  await expect(adapter.spawn(handle, 'true')).rejects.toMatchObject({ code: 'unavailable', effect: 'none' });
  await until(() => early.hits === 1);
  await until(() => emulator.sandbox(emulator.ids[0] as string)?.pids.length === 0);
  // What the shell has started reads the same stdin, and is not reached by the signal.
  const [close, kill] = await emulator.calls.arrived({ path: /CloseStdin$|SendSignal$/ }, 2);
  expect([close?.path, kill?.path]).toEqual(['/process.Process/CloseStdin', '/process.Process/SendSignal']);
}, 20_000);

test('a command that has not begun when its time is up never does', async () => {
  const emulator = await start({ startDelayMs: 1_000 });
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const id = emulator.ids[0] as string;
  const exec = adapter.exec(handle, ...sh('touch ran; sleep 600'), { timeoutMs: 300 });
  await expect(exec).rejects.toMatchObject({ code: 'unavailable', detail: 'timeout' });
  expect(emulator.calls.matching(INPUT)).toEqual([]);
  await until(() => emulator.sandbox(id)?.pids.length === 1);
  await until(() => emulator.sandbox(id)?.pids.length === 0);
  expect(emulator.calls.matching(INPUT)).toEqual([]);
  expect(existsSync(join(emulator.sandbox(id)?.home as string, 'ran'))).toBe(false);
}, 20_000);

test.each(['../up', '..', '.', ''])('a directory has no entry of the name %p', async (name) => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const entry = { name, type: 'FILE_TYPE_FILE', modifiedTime: '2026-01-01T00:00:00Z' };
  const path = '/filesystem.Filesystem/ListDir';
  emulator.faults.add({ method: 'POST', path, answer: { status: 200, json: { entries: [entry] } } });
  await expect(adapter.listFiles(handle, '.')).rejects.toMatchObject(MALFORMED);
});

test.each(['-1', -1, 1.5])('no file has the size %p', async (size) => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const entry = { name: 'f', type: 'FILE_TYPE_FILE', size, modifiedTime: '2026-01-01T00:00:00Z' };
  const path = '/filesystem.Filesystem/Stat';
  emulator.faults.add({ method: 'POST', path, answer: { status: 200, json: { entry } } });
  await expect(adapter.statFile(handle, 'f')).rejects.toMatchObject(MALFORMED);
});

test('a sandbox that was paused after it was listed is woken before anything is sent into it', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const json = await api(emulator, 'GET', '/v2/sandboxes');
  await adapter.suspend(handle);
  emulator.faults.add({ ...LIST, answer: { status: 200, json } });
  expect((await client(emulator).exec(adapter.buildHandle('box'), 'true')).exitCode).toBe(0);
  expect(emulator.calls.matching(START).map(({ status }) => status)).toEqual([200]);
});
