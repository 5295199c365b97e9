import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { StreamRewrite } from '../kit/fault.js';
import { E2bEmulator } from './e2b-emulator.js';
import { E2B_STREAM_FAULTS } from './faults.js';
import type { E2bEmulatorOptions } from './options.js';

let emulator: E2bEmulator;
let id: string;
let token: string;

afterEach(async () => await emulator.close());

type Json = Record<string, unknown>;

async function start(options: Partial<E2bEmulatorOptions> = {}, create: Json = {}): Promise<void> {
  emulator = await E2bEmulator.start(options);
  const sandbox = (await (await control('POST', '/v2/sandboxes', { templateID: 'base', ...create })).json()) as Json;
  id = sandbox['sandboxID'] as string;
  token = sandbox['envdAccessToken'] as string;
}

async function control(method: string, path: string, body?: unknown): Promise<Response> {
  return await fetch(emulator.url + path, {
    method,
    headers: { 'x-api-key': emulator.apiKey, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

function routed(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { 'e2b-sandbox-id': id, 'e2b-sandbox-port': '49983', 'x-access-token': token, ...more };
}

async function unary(method: string, message: Json = {}, headers = {}): Promise<[number, Json]> {
  const service = /^[A-Z]\w+$/.test(method) ? `process.Process/${method}` : method;
  const response = await fetch(`${emulator.url}/${service}`, {
    method: 'POST',
    headers: routed({ 'content-type': 'application/json', ...headers }),
    body: JSON.stringify(message),
  });
  return [response.status, (await response.json()) as Json];
}

interface Frame {
  readonly flags: number;
  readonly message: Json;
}

/** One streaming call, as it comes in. */
class Stream {
  readonly frames: Frame[] = [];
  ended: 'orderly' | 'cut' | undefined;
  readonly #abort = new AbortController();
  #changed: () => void = () => {};

  static async open(method: string, message: Json, headers = {}): Promise<Stream> {
    const stream = new Stream();
    const payload = Buffer.from(JSON.stringify(message));
    const head = Buffer.from([0, 0, 0, 0, 0]);
    head.writeUInt32BE(payload.length, 1);
    const response = await fetch(`${emulator.url}/process.Process/${method}`, {
      method: 'POST',
      headers: routed({ 'content-type': 'application/connect+json', ...headers }),
      body: Buffer.concat([head, payload]),
      signal: stream.#abort.signal,
    });
    const type = response.headers.get('content-type');
    if (response.status !== 200 || type !== 'application/connect+json') {
      throw new Error(`${response.status} ${type} ${await response.text()}`);
    }
    void stream.#read(response.body!);
    return stream;
  }

  get events(): Json[] {
    return this.frames.filter(({ flags }) => flags === 0).map(({ message }) => message['event'] as Json);
  }

  get pid(): number {
    return (this.events[0]!['start'] as { pid: number }).pid;
  }

  get end(): unknown {
    return this.events.find((event) => 'end' in event)?.['end'];
  }

  /** The message of the last envelope. */
  get last(): unknown {
    return this.frames.find(({ flags }) => flags === 2)?.message;
  }

  output(kind = 'stdout'): string {
    const chunks = this.events.map((event) => (Object(event['data']) as Record<string, string>)[kind] ?? '');
    return Buffer.concat(chunks.map((chunk) => Buffer.from(chunk, 'base64'))).toString('latin1');
  }

  async until(probe: (stream: Stream) => boolean): Promise<this> {
    while (!probe(this)) await new Promise<void>((resolve) => (this.#changed = resolve));
    return this;
  }

  async whole(): Promise<this> {
    return await this.until(({ ended }) => ended !== undefined);
  }

  leave(): void {
    this.#abort.abort();
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let rest = Buffer.alloc(0);
    try {
      for await (const chunk of body) {
        rest = Buffer.concat([rest, chunk]);
        while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
          const end = 5 + rest.readUInt32BE(1);
          this.frames.push({ flags: rest[0]!, message: JSON.parse(rest.subarray(5, end).toString()) as Json });
          rest = rest.subarray(end);
        }
        this.#changed();
      }
      this.ended = 'orderly';
    } catch {
      this.ended = 'cut';
    }
    this.#changed();
  }
}

async function run(script: string, more: Json = {}, headers = {}): Promise<Stream> {
  const { process = {}, ...rest } = more as { process?: Json };
  return await Stream.open('Start', { process: { cmd: 'sh', args: ['-c', script], ...process }, ...rest }, headers);
}

/** A process that has printed `up`. */
async function up(script: string, more: Json = {}, headers = {}): Promise<Stream> {
  return await (await run(`echo up; ${script}`, more, headers)).until((stream) => stream.output().includes('up'));
}

async function pids(): Promise<number[]> {
  const [, { processes = [] }] = (await unary('List')) as [number, { processes?: { pid: number }[] }];
  return processes.map(({ pid }) => pid);
}

async function pause(): Promise<void> {
  expect((await control('POST', `/sandboxes/${id}/pause`, {})).status).toBe(204);
}

async function resume(): Promise<void> {
  expect((await control('POST', `/v2/sandboxes/${id}/connect`, {})).status).toBe(201);
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** The letter that the kernel has for the state of a process; `undefined` without one, or when it is dead. */
async function stateOf(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return /\) ([^ZX])/.exec(text)?.[1];
}

describe('the edge', () => {
  test.each([
    [{ 'e2b-sandbox-id': 'iabc' }, 'missing header e2b-sandbox-port'],
    [{ 'e2b-sandbox-port': '49983' }, 'missing header e2b-sandbox-id'],
    [{ 'e2b-sandbox-id': 'A!', 'e2b-sandbox-port': '1' }, 'invalid sandbox id'],
    [{ 'e2b-sandbox-id': 'iabc', 'e2b-sandbox-port': '70000' }, 'invalid port'],
  ])('%j is a 400', async (headers, text) => {
    await start();
    const response = await fetch(emulator.url, { headers });
    expect([response.status, await response.text()]).toEqual([400, text]);
  });

  test('says the same of one that is paused, killed or unknown', async () => {
    await start();
    const ask = async (sandboxId: string) => {
      const response = await fetch(`${emulator.url}/health`, { headers: routed({ 'e2b-sandbox-id': sandboxId }) });
      return [response.status, await response.json()];
    };
    const gone = (sandboxId: string) => [502, { sandboxId, message: 'The sandbox was not found', code: 502 }];
    expect(await ask('iunknown')).toEqual(gone('iunknown'));
    await pause();
    expect(await ask(id)).toEqual(gone(id));
    await control('DELETE', `/sandboxes/${id}`);
    expect(await ask(id)).toEqual(gone(id));
  });

  test('says another thing of a port that is closed', async () => {
    await start();
    const response = await fetch(emulator.url, { headers: routed({ 'e2b-sandbox-port': '1' }) });
    const body = { sandboxId: id, message: 'The sandbox is running but port is not open', port: 1, code: 502 };
    expect([response.status, await response.json()]).toEqual([502, body]);
  });

  test('keeps a private ingress for those who have its token', async () => {
    await start({}, { network: { allowPublicTraffic: false } });
    const response = await fetch(emulator.url, { headers: routed({ 'e2b-sandbox-port': '1' }) });
    expect([response.status, ((await response.json()) as Json)['code']]).toEqual([403, 403]);
    expect((await unary('List'))[0]).toBe(200);
  });

  test('lets nobody at the internal routes', async () => {
    await start();
    const response = await fetch(`${emulator.url}/init`, { method: 'POST', headers: routed() });
    expect([response.status, await response.json()]).toEqual([404, { message: 'Not found', path: '/init', code: 404 }]);
  });

  test('wakes one that asked for it, and only for those who have the token of envd', async () => {
    await start({}, { autoResume: { enabled: true }, autoPause: true });
    await pause();
    expect((await unary('List', {}, { 'x-access-token': 'wrong' }))[0]).toBe(403);
    expect(emulator.sandbox(id)!.state).toBe('paused');
    expect((await unary('List'))[0]).toBe(200);
    expect(emulator.sandbox(id)!.state).toBe('running');
  });

  test('counts the calls that carry the key of the control plane', async () => {
    await start();
    await unary('List', {}, { 'x-api-key': emulator.apiKey });
    expect(emulator.sandbox(id)!.apiKeysSeen).toBe(1);
  });
});

describe('authentication', () => {
  test.each<Record<string, string>>([{}, { 'x-access-token': 'wrong' }])(
    '%j is a plain 401 with a numeric code, streams included',
    async (given) => {
      await start();
      const headers = { 'e2b-sandbox-id': id, 'e2b-sandbox-port': '49983', ...given };
      const message = 'unauthorized access, please provide a valid access token or method signing if supported';
      for (const path of ['process.Process/List', 'process.Process/Start', 'envs']) {
        const method = path === 'envs' ? 'GET' : 'POST';
        const response = await fetch(`${emulator.url}/${path}`, { method, headers });
        expect([response.status, await response.json()]).toEqual([401, { code: 401, message }]);
      }
      expect((await fetch(`${emulator.url}/health`, { headers })).status).toBe(204);
      expect((await fetch(`${emulator.url}/files?path=x`, { headers })).status).toBe(401);
    },
  );

  test('a sandbox that is not secured is open', async () => {
    await start();
    const made = await control('POST', '/sandboxes', { templateID: 'base' });
    id = ((await made.json()) as Json)['sandboxID'] as string;
    expect((await unary('List', {}, { 'x-access-token': '' }))[0]).toBe(200);
  });

  test('a user that there is not is unauthenticated', async () => {
    await start();
    const headers = { authorization: `Basic ${base64('nobody:')}` };
    const error = { code: 'unauthenticated', message: "invalid username: 'nobody'" };
    expect((await (await run('true', {}, headers)).whole()).last).toEqual({ error });
    expect(await unary('filesystem.Filesystem/Stat', { path: '.' }, headers)).toEqual([401, error]);
    const file = await fetch(`${emulator.url}/files?path=x&username=nobody`, { headers: routed() });
    expect([file.status, await file.json()]).toEqual([401, { code: 401, message: error.message }]);
  });
});

describe('start', () => {
  test('tells start, output, end and an orderly close, without the zero', async () => {
    await start();
    const stream = await (await run('printf out; printf err >&2')).whole();
    expect(Object.keys(stream.events[0]!)).toEqual(['start']);
    expect([stream.output(), stream.output('stderr')]).toEqual(['out', 'err']);
    expect([stream.end, stream.last, stream.ended]).toEqual([{ exited: true, status: 'exit status 0' }, {}, 'orderly']);
  });

  test('tells another exit, and a missing program as exit 127', async () => {
    await start();
    const end = { exitCode: 7, exited: true, status: 'exit status 7', error: 'exit status 7' };
    expect((await (await run('exit 7')).whole()).end).toEqual(end);
    const missing = await (await run('', { process: { cmd: 'no-such-program', args: [] } })).whole();
    expect([missing.end, missing.output('stderr')]).toEqual([
      { exitCode: 127, exited: true, status: 'exit status 127', error: 'exit status 127' },
      expect.stringContaining('no-such-program'),
    ]);
  });

  test('tells death by a signal without `exited`', async () => {
    await start();
    const end = { exitCode: -1, status: 'signal: killed', error: 'signal: killed' };
    expect((await (await run('kill -KILL $$')).whole()).end).toEqual(end);
  });

  test('hands on every byte in pieces of at most 32 KiB', async () => {
    await start();
    const stream = await (
      await run('i=0; while [ $i -lt 20 ]; do head -c 10000 /dev/zero; printf "\\377\\n"; i=$((i+1)); done')
    ).whole();
    expect(stream.output()).toBe(`${'\0'.repeat(10_000)}\u00FF\n`.repeat(20));
    const sizes = stream.events.map((event) => {
      return Buffer.from((Object(event['data']) as { stdout?: string }).stdout ?? '', 'base64').length;
    });
    expect(Math.max(...sizes)).toBeLessThanOrEqual(32 * 1024);
  });

  test('gives a command the variables of envd, of the sandbox and its own, and no others', async () => {
    await start({}, { envVars: { FROM_CREATE: '1', E2B_SANDBOX: 'no' } });
    const stream = await (await run('env', { process: { envs: { OWN: '2', FROM_CREATE: '3' } } })).whole();
    const env = Object.fromEntries(
      stream
        .output()
        .trim()
        .split('\n')
        .map((line) => line.split('=')),
    );
    expect(env).toMatchObject({ USER: 'user', LOGNAME: 'user', E2B_SANDBOX: 'true', E2B_SANDBOX_ID: id, OWN: '2' });
    expect(env['FROM_CREATE']).toBe('3');
    const names = Object.keys(env).filter((name) => !/^(?:SANDBOX_|_$|PWD|SHLVL|OLDPWD)/.test(name));
    expect(names.toSorted()).toEqual(
      ['PATH', 'HOME', 'USER', 'LOGNAME', 'TMPDIR', 'FROM_CREATE', 'E2B_SANDBOX', 'E2B_SANDBOX_ID']
        .concat(['E2B_TEMPLATE_ID', 'OWN'])
        .toSorted(),
    );
  });

  test('runs in the home directory, or where it is told to', async () => {
    await start();
    await unary('filesystem.Filesystem/MakeDir', { path: 'work' });
    const { home } = emulator.sandbox(id)!;
    for (const [cwd, directory] of [
      [undefined, home],
      ['work', join(home, 'work')],
      ['~/work', join(home, 'work')],
      ['/home/user/work', join(home, 'work')],
    ]) {
      expect((await (await run('pwd', { process: { ...(cwd && { cwd }) } })).whole()).output()).toBe(`${directory}\n`);
    }
    const error = { code: 'invalid_argument', message: "cwd '/nowhere' does not exist" };
    expect((await (await run('pwd', { process: { cwd: '/nowhere' } })).whole()).frames).toEqual([
      { flags: 2, message: { error } },
    ]);
  });

  test('leaves a command in no group of its own, so that setsid keeps its pid', async () => {
    await start();
    const stream = await up('wait', {
      process: { cmd: 'setsid', args: ['sh', '-c', 'echo up; echo $$; exec sleep 100'] },
    });
    await stream.until(({ frames }) => stream.output().split('\n').length > 2 && frames.length > 1);
    expect(Number(stream.output().split('\n')[1])).toBe(stream.pid);
  });

  test('waits for background processes that keep its output', async () => {
    await start();
    const gate = await up('read -r line; echo late', { stdin: true });
    const stream = await up('', {
      process: {
        args: ['-c', 'echo up; (while kill -0 $1 2>/dev/null; do sleep 0.02; done) & exit 3', 'sh', String(gate.pid)],
      },
    });
    // The leader is reaped, and envd still has it.
    while ((await stateOf(stream.pid)) !== undefined) await pids();
    expect([await pids(), stream.end]).toEqual([[gate.pid, stream.pid], undefined]);
    await unary('SendInput', { process: { pid: gate.pid }, input: { stdin: base64('go\n') } });
    expect((await stream.whole()).end).toMatchObject({ exitCode: 3 });
  });

  test('outlives its stream, whose output is thrown away', async () => {
    await start();
    const stream = await up('read -r line; echo lost; read -r line; echo found; exit 4', { stdin: true });
    const { pid } = stream;
    stream.leave();
    await emulator.calls.arrived({ path: '/process.Process/Start' });
    const send = async (text: string) => await unary('SendInput', { process: { pid }, input: { stdin: base64(text) } });
    await send('one\n');
    const gate = await (await run('true')).whole();
    expect(gate.end).toMatchObject({ exited: true });
    const second = await Stream.open('Connect', { process: { pid } });
    await second.until(({ events }) => events.length > 0);
    await send('two\n');
    await second.whole();
    expect([second.pid, second.output().replace('lost\n', ''), second.end]).toEqual([
      pid,
      'found\n',
      expect.objectContaining({ exitCode: 4 }),
    ]);
  });

  test('is killed by Connect-Timeout-Ms', async () => {
    await start();
    const stream = await up('exec sleep 100', {}, { 'connect-timeout-ms': '300' });
    await stream.whole();
    expect([stream.end, stream.last]).toEqual([
      undefined,
      { error: { code: 'deadline_exceeded', message: 'context deadline exceeded' } },
    ]);
    while ((await pids()).length > 0) continue;
  });

  test('sends keepalives while it is quiet', async () => {
    await start();
    const stream = await run('exec sleep 100', {}, { 'keepalive-ping-interval': '1' });
    await stream.until(({ events }) => events.length === 3);
    expect(stream.events.slice(1)).toEqual([{ keepalive: {} }, { keepalive: {} }]);
  });

  test('refuses other content types and broken envelopes', async () => {
    await start();
    const post = async (type: string, body: Buffer) => {
      const headers = routed({ 'content-type': type });
      return await fetch(`${emulator.url}/process.Process/Start`, { method: 'POST', headers, body });
    };
    expect((await post('application/json', Buffer.from('{}'))).status).toBe(415);
    const broken = Buffer.from(
      await (await post('application/connect+json', Buffer.from([0, 0, 0, 0, 9]))).arrayBuffer(),
    );
    expect(JSON.parse(broken.subarray(5).toString())).toEqual({
      error: { code: 'invalid_argument', message: 'protocol error: incomplete envelope' },
    });
  });

  test('that nobody hears of still runs', async () => {
    await start();
    emulator.faults.add({ path: '/process.Process/Start', reset: true, effect: 'applied' });
    await expect(run('exec sleep 100', { tag: 'mine' })).rejects.toThrow('fetch failed');
    const [, { processes }] = (await unary('List')) as [number, { processes: Json[] }];
    expect(processes).toEqual([expect.objectContaining({ tag: 'mine' })]);
  });
});

describe('connect', () => {
  test('gives everybody who reads the same, from then on', async () => {
    await start();
    const first = await up('read -r line; echo both', { stdin: true });
    const second = await Stream.open('Connect', { process: { pid: first.pid } });
    await second.until(({ events }) => events.length > 0);
    await unary('SendInput', { process: { pid: first.pid }, input: { stdin: base64('go\n') } });
    await Promise.all([first.whole(), second.whole()]);
    expect([first.output(), second.output(), second.end]).toEqual(['up\nboth\n', 'both\n', first.end]);
  });

  test('to what there is not is an error within the stream', async () => {
    await start();
    const stream = await (await Stream.open('Connect', { process: { pid: 1 } })).whole();
    expect(stream.frames).toEqual([
      { flags: 2, message: { error: { code: 'not_found', message: 'process with pid 1 not found' } } },
    ]);
  });

  test('with a timeout ends the stream and not the process', async () => {
    await start();
    const first = await up('exec sleep 100');
    const second = await Stream.open('Connect', { process: { pid: first.pid } }, { 'connect-timeout-ms': '50' });
    expect((await second.whole()).last).toEqual({
      error: { code: 'deadline_exceeded', message: 'context deadline exceeded' },
    });
    expect(await pids()).toEqual([first.pid]);
  });

  test('holds up the process, and all other readers, when one does not read', async () => {
    await start({ readerBytes: 64 * 1024 });
    const first = await up('read -r line; head -c 60000000 /dev/zero; echo done >&2; exec sleep 100', { stdin: true });
    const payload = Buffer.from(JSON.stringify({ process: { pid: first.pid } }));
    const head = Buffer.from([0, 0, 0, 0, payload.length]);
    const stuck = await fetch(`${emulator.url}/process.Process/Connect`, {
      method: 'POST',
      headers: routed({ 'content-type': 'application/connect+json' }),
      body: Buffer.concat([head, payload]),
    });
    await unary('SendInput', { process: { pid: first.pid }, input: { stdin: base64('go\n') } });
    // Nobody reads `stuck`: what it can hold is less than a tenth of the output.
    let before = -1;
    while (first.frames.length !== before) {
      before = first.frames.length;
      await (await run('sleep 0.3')).whole();
    }
    expect(first.output('stderr')).toBe('');
    await stuck.body!.cancel();
    await first.until(() => first.output('stderr') === 'done\n');
  }, 30_000);
});

describe('unary calls', () => {
  test('list is empty without processes, and shows environments', async () => {
    await start();
    expect(await unary('List')).toEqual([200, {}]);
    const { pid } = await up('exec sleep 100', { tag: 't', process: { envs: { SECRET: 's' } } });
    const config = { cmd: 'sh', args: ['-c', 'echo up; exec sleep 100'], envs: { SECRET: 's' } };
    expect(await unary('List')).toEqual([200, { processes: [{ config, pid, tag: 't' }] }]);
  });

  test('input goes to stdin until it is closed', async () => {
    await start();
    const stream = await run('cat; exit 5');
    await stream.until(({ events }) => events.length > 0);
    const process = { pid: stream.pid };
    expect(await unary('SendInput', { process, input: { stdin: base64('a\0\u00FF') } })).toEqual([200, {}]);
    expect(await unary('CloseStdin', { process })).toEqual([200, {}]);
    await stream.whole();
    expect([Buffer.from(stream.output(), 'latin1').toString(), stream.end]).toEqual([
      'a\0\u00FF',
      expect.objectContaining({ exitCode: 5 }),
    ]);
    const gone = { code: 'not_found', message: `process with pid ${process.pid} not found` };
    expect(await unary('SendInput', { process, input: { stdin: 'YQ==' } })).toEqual([404, gone]);
    expect(await unary('CloseStdin', { process })).toEqual([404, gone]);
    expect(await unary('SendSignal', { process, signal: 'SIGNAL_SIGKILL' })).toEqual([404, gone]);
  });

  test('input without a stdin is an internal error, and closing it is none', async () => {
    await start();
    const { pid } = await up('exec sleep 100', { stdin: false });
    const input = { stdin: base64('a') };
    const [status, { code }] = await unary('SendInput', { process: { pid }, input });
    expect([status, code]).toEqual([500, 'internal']);
    expect(await unary('CloseStdin', { process: { pid } })).toEqual([200, {}]);
    expect((await unary('SendInput', { process: { pid }, input: {} }))[1]['code']).toBe('unimplemented');
    expect((await unary('SendInput', { process: { pid }, input: { pty: 'YQ==' } }))[1]['code']).toBe('internal');
  });

  test('input to a full pipe waits', async () => {
    await start();
    const { pid } = await up('exec sleep 100');
    const abort = new AbortController();
    const blocked = fetch(`${emulator.url}/process.Process/SendInput`, {
      method: 'POST',
      headers: routed({ 'content-type': 'application/json' }),
      body: JSON.stringify({ process: { pid }, input: { stdin: base64('x'.repeat(200_000)) } }),
      signal: abort.signal,
    });
    await emulator.calls.arrived({ path: '/process.Process/SendInput' });
    await (await run('true')).whole();
    expect(emulator.calls.matching({ path: '/process.Process/SendInput' })[0]!.status).toBeUndefined();
    abort.abort();
    await expect(blocked).rejects.toThrow('aborted');
  });

  test('a signal reaches the leader alone', async () => {
    await start();
    const stream = await up('sleep 100 & echo $!; wait');
    await stream.until(() => stream.output().split('\n').length === 3);
    const child = Number(stream.output().split('\n')[1]);
    expect(await unary('SendSignal', { process: { pid: stream.pid }, signal: 'SIGNAL_SIGTERM' })).toEqual([200, {}]);
    await stream.whole();
    expect(stream.end).toEqual({ exitCode: -1, status: 'signal: terminated', error: 'signal: terminated' });
    expect(await stateOf(child)).toMatch(/^[SRD]$/);
  });

  test('signals other than two are unimplemented', async () => {
    await start();
    const { pid } = await up('exec sleep 100');
    expect(await unary('SendSignal', { process: { pid }, signal: 2 })).toEqual([
      501,
      { code: 'unimplemented', message: 'invalid signal: 2' },
    ]);
    expect(await pids()).toEqual([pid]);
  });

  test('a terminal is typed to, resized, and not closed', async () => {
    await start();
    const stream = await run('stty -echo; echo up; read -r line; stty size', { pty: { size: { cols: 90, rows: 20 } } });
    await stream.until(() => stream.output('pty').includes('up'));
    const process = { pid: stream.pid };
    expect(await unary('Update', { process, pty: { size: { cols: 100, rows: 40 } } })).toEqual([200, {}]);
    expect((await unary('SendInput', { process, input: { stdin: 'YQ==' } }))[1]['code']).toBe('internal');
    expect((await unary('CloseStdin', { process }))[1]['code']).toBe('unknown');
    await unary('SendInput', { process, input: { pty: base64('go\n') } });
    expect((await stream.whole()).output('pty')).toBe('up\r\n40 100\r\n');
    const plain = await up('exec sleep 100');
    expect((await unary('Update', { process: { pid: plain.pid }, pty: {} }))[1]).toMatchObject({
      code: 'internal',
      message: expect.stringMatching(/^error resizing tty: /),
    });
  });

  test('a tag alone selects when it is the only one', async () => {
    await start();
    const { pid } = await up('cat', { tag: 'a' });
    expect(await unary('SendInput', { process: { tag: 'a' }, input: { stdin: 'YQ==' } })).toEqual([200, {}]);
    expect(await unary('SendInput', { process: { tag: 'b' }, input: { stdin: 'YQ==' } })).toEqual([
      404,
      { code: 'not_found', message: 'process with tag b not found' },
    ]);
    expect(await pids()).toEqual([pid]);
  });

  test('a method that there is not is a 404', async () => {
    await start();
    expect(await unary('Nothing')).toEqual([404, { code: 404, message: '404 page not found' }]);
  });
});

describe('a pause', () => {
  test('freezes processes and cuts their streams, and a resume lets them go on with their pids', async () => {
    await start();
    const stream = await up('read -r line; exit 6', { stdin: true });
    await pause();
    expect((await stream.whole()).ended).toBe('cut');
    expect([await stateOf(stream.pid), stream.end, stream.last]).toEqual(['T', undefined, undefined]);
    await resume();
    const again = await Stream.open('Connect', { process: { pid: stream.pid } });
    await again.until(({ events }) => events.length > 0);
    await unary('SendInput', { process: { pid: stream.pid }, input: { stdin: base64('go\n') } });
    expect((await again.whole()).end).toMatchObject({ exitCode: 6 });
  });

  test('stops the clock of a kill', async () => {
    await start();
    const stream = await up('exec sleep 100', {}, { 'connect-timeout-ms': '60000' });
    await pause();
    await resume();
    expect(await pids()).toEqual([stream.pid]);
  });

  test('without memory ends all processes', async () => {
    await start();
    const stream = await up('exec sleep 100');
    await control('POST', `/sandboxes/${id}/pause`, { memory: false });
    expect(await stateOf(stream.pid)).toBeUndefined();
    await resume();
    expect(await unary('List')).toEqual([200, {}]);
  });

  test('cuts a snapshot the same way, and its processes go on', async () => {
    await start();
    const stream = await up('exec sleep 100');
    expect((await control('POST', `/sandboxes/${id}/snapshots`, {})).status).toBe(201);
    expect((await stream.whole()).ended).toBe('cut');
    expect([await pids(), await stateOf(stream.pid)]).toEqual([[stream.pid], 'S']);
  });
});

describe('a kill', () => {
  test('ends every process, those that left their session too, and cuts streams without an end', async () => {
    await start();
    const stream = await up('setsid sleep 100 & echo $!; wait');
    await stream.until(() => stream.output().split('\n').length === 3);
    const child = Number(stream.output().split('\n')[1]);
    expect((await control('DELETE', `/sandboxes/${id}`)).status).toBe(204);
    await stream.whole();
    expect([stream.ended, stream.end, await stateOf(stream.pid), await stateOf(child)]).toEqual([
      'cut',
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('is what close does to all', async () => {
    await start();
    const stream = await up('exec env -i sleep 100');
    await emulator.close();
    expect([(await stream.whole()).ended, await stateOf(stream.pid)]).toEqual(['cut', undefined]);
  });
});

describe('stream faults', () => {
  async function faulty(rewrite: StreamRewrite): Promise<Stream> {
    await start();
    emulator.faults.add({ path: '/process.Process/Start', rewrite });
    return await (await run('printf "\\303\\244"; exit 3')).whole();
  }

  test('cutBeforeStart runs it and tells nothing', async () => {
    const stream = await faulty(E2B_STREAM_FAULTS.cutBeforeStart);
    expect([stream.ended, stream.frames]).toEqual(['cut', []]);
  });

  test.each([
    ['cutInFrame', 'cut', '', false, undefined],
    ['cutBeforeEnd', 'cut', '\u00C3\u00A4', false, undefined],
    ['cutAfterEnd', 'cut', '\u00C3\u00A4', true, undefined],
    ['noLastEnvelope', 'orderly', '\u00C3\u00A4', true, undefined],
    ['noEnd', 'orderly', '\u00C3\u00A4', false, {}],
    ['splitFrames', 'orderly', '\u00C3\u00A4', true, {}],
    ['splitOutput', 'orderly', '\u00C3\u00A4', true, {}],
  ] as const)('%s', async (name, ended, output, end, last) => {
    const stream = await faulty(E2B_STREAM_FAULTS[name]);
    expect([stream.ended, stream.output(), stream.end !== undefined, stream.last]).toEqual([ended, output, end, last]);
  });

  test('splitOutput gives an event for each byte', async () => {
    const { events } = await faulty(E2B_STREAM_FAULTS.splitOutput);
    expect(events.map((event) => Object.keys(event)[0])).toEqual(['start', 'data', 'data', 'end']);
  });

  test('errorInsteadOfEnd', async () => {
    const error = { code: 'unavailable', message: 'gone' };
    const stream = await faulty(E2B_STREAM_FAULTS.errorInsteadOfEnd(error));
    expect([stream.end, stream.last]).toEqual([undefined, { error, metadata: {} }]);
  });

  test('joinedFrames', async () => {
    const stream = await faulty(E2B_STREAM_FAULTS.joinedFrames());
    expect([stream.output(), stream.end, stream.last]).toEqual([
      '\u00C3\u00A4',
      expect.objectContaining({ exitCode: 3 }),
      {},
    ]);
  });

  test('unknownEvents', async () => {
    const stream = await faulty(E2B_STREAM_FAULTS.unknownEvents);
    expect([stream.events[0], stream.output(), stream.frames[1]!.message['trace']]).toEqual([
      { pulse: { beat: 1 } },
      '\u00C3\u00A4',
      { id: 'x' },
    ]);
  });
});
