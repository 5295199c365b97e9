import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  E2B_ANSWERS,
  E2B_STREAM_FAULTS,
  E2bEmulator,
  type E2bEmulatorOptions,
  type StreamRewrite,
} from '#libs/emulators';
import { fromStdinWithin } from '../common/shim-start.js';
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

const sh = (script: string): [string, string[]] => ['sh', ['-c', script]];
async function until(probe: () => unknown): Promise<void> {
  while (!(await probe())) await new Promise((resolve) => setTimeout(resolve, 5));
}

const PAGE = { status: 404, html: '<html>404 page not found</html>' } as const;

describe('a 404 that is not the word of the service', () => {
  test('says nothing about a sandbox', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.createNew('box');
    const page = emulator.faults.add({ method: 'GET', path: '/sandboxes/:id', times: 9, answer: PAGE });
    const fresh = client(emulator);
    await expect(fresh.get(handle)).rejects.toMatchObject({ code: 'provider', detail: 'malformed_reply' });
    await expect(fresh.destroy(handle)).rejects.toMatchObject({ code: 'provider', detail: 'malformed_reply' });
    page.remove();
    expect(await fresh.get(handle)).toMatchObject({ status: 'running' });
  });

  test('deletes nothing', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.createNew('box');
    emulator.faults.add({ method: 'DELETE', path: '/sandboxes/:id', times: 9, answer: PAGE });
    await expect(adapter.destroy(handle)).rejects.toMatchObject({ code: 'provider', detail: 'malformed_reply' });
    expect(emulator.ids).toEqual([handle.instanceId]);
  });

  test('says nothing about a file', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    await adapter.writeFile(handle, 'file', 'content');
    emulator.faults.add({ method: 'GET', path: '/files', times: 9, answer: PAGE });
    await expect(adapter.readFile(handle, 'file')).rejects.toMatchObject({ code: 'provider' });
    await expect(adapter.readFile(handle, 'other')).rejects.toMatchObject({ code: 'provider' });
  });
});

describe('a command that deletes its own journal', () => {
  test('has no exit, and does not run for ever', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const exec = adapter.exec(handle, ...sh('rm -rf "$HOME/.nestjs-sandbox"; echo over'));
    await expect(exec).rejects.toMatchObject({ code: 'unavailable' });
  }, 15_000);

  test('or keeps its exit from being recorded, has none, and does not run for ever', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const exec = adapter.exec(
      handle,
      ...sh('for d in "$HOME"/.nestjs-sandbox/runs/*; do mkdir "$d/exit.tmp"; done; echo over'),
    );
    await expect(exec).rejects.toMatchObject({ code: 'unavailable', detail: 'session_lost' });
    await until(() => emulator.sandbox(emulator.ids[0] as string)?.pids.length === 0);
  }, 30_000);

  test('was not stopped by a stop that did not find it', async () => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const script = 'rm -rf "$HOME/.nestjs-sandbox"; exec sleep 600';
    const exec = adapter.exec(handle, ...sh(script), { timeoutMs: 1_000 });
    await expect(exec).rejects.toMatchObject({ code: 'unavailable', effect: 'unknown' });
  }, 15_000);
});

test.each([[{}], [null], ['boom'], [7]])('a terminal of which the end is %j has no exit code', async (end) => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const rewrite: StreamRewrite = (step) => {
    if (!('data' in step) || !step.data.includes('"end":')) return [step];
    return [framed(0, { event: { end } })];
  };
  emulator.faults.add({ method: 'POST', path: '/process.Process/Start', rewrite });
  const command = await adapter.spawn(handle, ...sh('exit 3'), { tty: { cols: 80, rows: 24 } });
  await expect(command.drain()).rejects.toMatchObject({ code: 'unavailable', detail: 'closed_before_exit' });
});

test('a sandbox that was suspended is not in use', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  await adapter.suspend(handle);
  expect(adapter.stats()).toEqual({ sandboxesInUse: 0, openStreams: 0, stdinOwners: 0 });
});

test('a command that begins while its sandbox is about to be paused begins once that is over', async () => {
  const emulator = await start({ alternatives: { pausedStreams: 'ghost' } });
  const adapter = client(emulator, { retryBaseMs: 1_000 });
  const handle = await adapter.create('box');
  const pause = { method: 'POST', path: '/sandboxes/:id/pause' } as const;
  const busy = emulator.faults.add({ ...pause, answer: E2B_ANSWERS.busy });
  const suspending = adapter.suspend(handle);
  await until(() => busy.hits === 1);
  const exec = adapter.exec(handle, 'true');
  await suspending;
  expect(await exec).toMatchObject({ exitCode: 0 });
  const calls = emulator.calls.matching({ method: 'POST', path: /\/(?:pause|Start)$/ });
  expect(calls.slice(0, 2).map(({ path }) => path.split('/').at(-1))).toEqual(['pause', 'pause']);
});

test.each([false, true])('a shell that never gets its program ends by itself (detachable: %s)', async (detachable) => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  emulator.faults.add({ method: 'POST', path: '/process.Process/Start', rewrite: E2B_STREAM_FAULTS.cutBeforeStart });
  // Nobody can end it: it is not seen in the list.
  emulator.faults.add({ method: 'POST', path: '/process.Process/List', times: 9, answer: { status: 200, json: {} } });
  await expect(adapter.spawn(handle, 'true', [], { detachable })).rejects.toMatchObject({ effect: 'none' });
  const [pid] = emulator.sandbox(emulator.ids[0] as string)?.pids ?? [];
  const words = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
  expect(words).toContain(fromStdinWithin(60));
});

test('a stream whose end has come with the exit is let go of', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const command = await adapter.spawn(handle, ...sh('seq 20000'), { detachable: true });
  await command.drain();
  for (let round = 0; round < 5; round += 1) {
    const rewrite = E2B_STREAM_FAULTS.joinedFrames();
    emulator.faults.add({ method: 'POST', path: '/process.Process/Start', rewrite });
    const again = await adapter.attach(handle, command.sessionId as string);
    expect(await again.drain()).toEqual({ exitCode: 0 });
  }
  await until(() => adapter.stats().openStreams === 0);
  await adapter.suspend(handle);
  expect(emulator.sandbox(emulator.ids[0] as string)?.state).toBe('paused');
}, 20_000);

test('a process of others is listed, although one of its id was terminated when it was not there', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const command = await adapter.spawn(handle, 'sleep', ['600'], { detachable: true });
  const foreign = { processes: [{ pid: 4_000_000, config: { cmd: 'sleep' } }] };
  await adapter.terminateSession(handle, '4000000');
  emulator.faults.add({ method: 'POST', path: '/process.Process/List', answer: { status: 200, json: foreign } });
  expect(await adapter.listSessions(handle)).toEqual([{ id: '4000000', command: 'sleep', tty: false }]);
  await command.stop();
});

test('a shell that is gone before it read its program has run nothing', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const gone = { status: 404, json: { code: 'not_found', message: 'process with pid 7 not found' } };
  emulator.faults.add({ method: 'POST', path: '/process.Process/SendInput', answer: gone });
  await expect(adapter.exec(handle, 'true')).rejects.toMatchObject({
    code: 'unavailable',
    detail: 'closed_before_exit',
    effect: 'none',
  });
});

test.each(['x@evil.test', 'evil.test/path', 'evil test', 'evil.test?x'])(
  'a domain such as %j, which is no host name, is not where the token goes',
  async (domain) => {
    const emulator = await start({ domain });
    const adapter = new E2bAdapter(new E2bOptions({ apiKey: emulator.apiKey, baseUrl: emulator.url, retryBaseMs: 5 }));
    await expect(adapter.createNew('box')).rejects.toMatchObject({ code: 'unavailable', effect: 'unknown' });
  },
);

test.each(['resource_exhausted', 'not_found', 'invalid_argument'])(
  'a stream that ends with %s when its command was sent refuses nothing',
  async (code) => {
    const emulator = await start();
    const adapter = client(emulator);
    const handle = await adapter.create('box');
    const rewrite: StreamRewrite = (step) => {
      if (!('data' in step) || !step.data.includes('"data":')) return [step];
      return [framed(2, { error: { code, message: 'no' } }), { close: 1006 }];
    };
    emulator.faults.add({ method: 'POST', path: '/process.Process/Start', rewrite });
    const exec = adapter.exec(handle, 'true');
    await expect(exec).rejects.toMatchObject({ code: 'unavailable', effect: 'unknown' });
  },
);

test('a page of a gateway is no empty directory', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const page = { status: 200, html: '<html>welcome</html>' };
  emulator.faults.add({ method: 'POST', path: '/filesystem.Filesystem/ListDir', times: 9, answer: page });
  await expect(adapter.listFiles(handle, '.')).rejects.toMatchObject({ code: 'provider', detail: 'malformed_reply' });
});

test.each(['new/..', 'new/.', '.', '..', '~'])('a file is not written as %j, which is a directory', async (path) => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  await expect(adapter.writeFile(handle, path, 'content')).rejects.toMatchObject({ code: 'write_failed' });
  for (const directory of ['.', '.nestjs-sandbox/files']) {
    const names = (await adapter.listFiles(handle, directory)).map(({ name }) => name);
    expect(names.filter((name) => name !== '.nestjs-sandbox' && name !== 'new')).toEqual([]);
  }
});

test('a file that is too large to be given is asked for once, and nothing of it is given', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  await adapter.exec(handle, ...sh('truncate -s 268435457 large'));
  await expect(adapter.readFile(handle, 'large')).rejects.toMatchObject({ code: 'truncated', effect: 'none' });
  expect(emulator.calls.matching({ method: 'GET', path: '/files' }).length).toBe(1);
});

test('the input of an exec goes to no other process that has its number, once its stream was lost', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.create('box');
  const cut: StreamRewrite = (step) =>
    'data' in step && step.data.includes('"data":') ? [step, { close: 1006 }] : [step];
  emulator.faults.add({ method: 'POST', path: '/process.Process/Start', rewrite: cut });
  const sent = (): number => emulator.calls.matching({ method: 'POST', path: '/process.Process/SendInput' }).length;
  async function* late(): AsyncGenerator<string> {
    await emulator.calls.arrived({ method: 'POST', path: '/process.Process/Start' }, 2);
    yield 'secret';
  }
  emulator.faults.add({ method: 'POST', path: '/process.Process/List', times: 99, answer: { status: 200, json: {} } });
  const exec = adapter.exec(handle, 'cat', [], { stdin: late(), timeoutMs: 1_500 });
  await expect(exec).rejects.toMatchObject({ code: 'unavailable' });
  expect(sent()).toBe(1);
}, 20_000);

test('a sandbox that stays paused however often it is woken is not woken for ever', async () => {
  const emulator = await start();
  const adapter = client(emulator);
  const handle = await adapter.createNew('box');
  const paused = { sandboxID: handle.instanceId, state: 'paused', metadata: {} };
  const answer = { status: 200, json: paused };
  emulator.faults.add({ method: 'GET', path: '/sandboxes/:id', times: 999, answer });
  await expect(adapter.publicUrl(handle, { port: 80 })).rejects.toMatchObject({ code: 'unavailable' });
  expect(emulator.calls.matching({ method: 'POST', path: /connect$/ }).length).toBeLessThan(20);
});

function framed(flags: number, message: unknown): { readonly data: Buffer; readonly binary: boolean } {
  const payload = Buffer.from(JSON.stringify(message));
  const head = Buffer.of(flags, 0, 0, 0, 0);
  head.writeUInt32BE(payload.byteLength, 1);
  return { data: Buffer.concat([head, payload]), binary: true };
}
