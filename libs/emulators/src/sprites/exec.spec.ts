import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import type { StreamRewrite } from '../kit/fault.js';
import type { SpritesEmulatorOptions } from './options.js';
import { SpritesEmulator } from './sprites-emulator.js';
import { EXEC_FAULTS } from './stream-faults.js';

let emulator: SpritesEmulator;

afterEach(async () => await emulator.close());

async function start(options: Partial<SpritesEmulatorOptions> = {}): Promise<void> {
  emulator = await SpritesEmulator.start(options);
  await call('POST', '', { name: 'a' });
}

async function call(method: string, path: string, body?: unknown): Promise<Response> {
  return await fetch(`${emulator.url}/v1/sprites${path}`, {
    method,
    headers: { authorization: `Bearer ${emulator.token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function lines(response: Response): Promise<Record<string, unknown>[]> {
  const text = await response.text();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** One client of a session. */
class Client {
  readonly log: string[] = [];
  readonly texts: Record<string, unknown>[] = [];
  #output = { 1: [] as Buffer[], 2: [] as Buffer[], raw: [] as Buffer[] };
  #changed: () => void = () => {};
  end: number | undefined;
  refused: { status: number | undefined; body: string } | undefined;
  headers: Record<string, unknown> = {};

  constructor(
    readonly socket: WebSocket,
    private readonly tty: boolean,
  ) {
    socket.on('upgrade', (response) => (this.headers = response.headers));
    socket.on('message', (data, binary) => this.#message(data as Buffer, binary));
    socket.on('unexpected-response', (_, response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        this.refused = { status: response.statusCode, body: Buffer.concat(chunks).toString() };
        this.#changed();
      });
    });
    socket.on('error', () => {});
    socket.on('close', (code) => {
      this.end = code;
      this.#changed();
    });
  }

  async until(probe: (client: Client) => boolean): Promise<this> {
    while (!probe(this)) await new Promise<void>((resolve) => (this.#changed = resolve));
    return this;
  }

  async ended(): Promise<this> {
    return await this.until(({ end, refused }) => end !== undefined || refused !== undefined);
  }

  get stdout(): string {
    return Buffer.concat(this.#output[this.tty ? 'raw' : 1]).toString('latin1');
  }

  get stderr(): string {
    return Buffer.concat(this.#output[2]).toString('latin1');
  }

  get session(): string {
    return String(this.texts.find(({ type }) => type === 'session_info')!['session_id']);
  }

  get exit(): unknown {
    return this.texts.find(({ type }) => type === 'exit')?.['exit_code'];
  }

  stdin(text: string): void {
    this.socket.send(Buffer.concat([...(this.tty ? [] : [Buffer.of(0)]), Buffer.from(text)]));
  }

  eof(): void {
    this.socket.send(Buffer.of(4));
  }

  #message(data: Buffer, binary: boolean): void {
    if (!binary) {
      const text = JSON.parse(data.toString()) as Record<string, unknown>;
      this.texts.push(text);
      this.log.push(String(text['type']));
    } else if (this.tty) {
      this.#output.raw.push(data);
      this.log.push('output');
    } else {
      if (data[0] === 1 || data[0] === 2) this.#output[data[0]].push(data.subarray(1));
      this.log.push(data[0] === 3 ? `exit:${data.subarray(1).toString('hex')}` : `stream ${data[0]}`);
    }
    this.#changed();
  }
}

function open(path: string, query: string[][], tty = false): Client {
  const url = `${emulator.url.replace('http', 'ws')}/v1/sprites${path}?${new URLSearchParams(query as [string, string][]).toString()}`;
  return new Client(new WebSocket(url, { headers: { authorization: `Bearer ${emulator.token}` } }), tty);
}

function exec(script: string, ...more: string[][]): Client {
  return open(
    '/a/exec',
    [['cmd', 'sh'], ['cmd', '-c'], ['cmd', script], ...more],
    more.some(([name]) => name === 'tty'),
  );
}

const STDIN = ['stdin', 'true'];
const TTY = ['tty', 'true'];

async function sessions(): Promise<Record<string, unknown>[]> {
  const { sessions: list } = (await (await call('GET', '/a/exec')).json()) as { sessions: Record<string, unknown>[] };
  return list;
}

async function gone(id: string): Promise<void> {
  while ((await sessions()).some((session) => session['id'] === id)) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('a command without a terminal', () => {
  test('is introduced, printed and ended in this order', async () => {
    await start();
    const client = await exec('printf out; exit 7').ended();
    expect(client.log).toEqual(['session_info', 'stream 1', 'exit', 'exit:07']);
    expect([client.stdout, client.exit, client.end]).toEqual(['out', 7, 1000]);
  });

  test('is introduced by its pid, its program and a size of nothing', async () => {
    await start();
    const client = await exec('echo $$').ended();
    expect(client.texts[0]).toEqual({
      type: 'session_info',
      session_id: client.stdout.trim(),
      command: expect.stringMatching(/^\/\S*\/sh -c echo \$\$$/),
      created: expect.any(Number),
      cols: 0,
      rows: 0,
      is_owner: false,
      tty: false,
    });
  });

  test('prints each stream exactly', async () => {
    await start();
    const client = await exec('head -c 300000 /dev/zero; printf err >&2').ended();
    expect([client.stdout, client.stderr, client.exit]).toEqual(['\0'.repeat(300_000), 'err', 0]);
  });

  test('can open its outputs by name', async () => {
    await start();
    const client = await exec('echo a >/dev/stdout; echo b | tee /dev/stderr >/dev/null').ended();
    expect([client.stdout, client.stderr]).toEqual(['a\n', 'b\n']);
  });

  test('reads stdin up to the frame that ends it', async () => {
    await start();
    const client = exec('cat; echo end', STDIN);
    await client.until(({ log }) => log.length > 0);
    client.stdin('one ');
    client.stdin('two ');
    client.eof();
    expect((await client.ended()).stdout).toBe('one two end\n');
  });

  test('has no stdin that was not asked for', async () => {
    await start();
    expect((await exec('cat; echo end').ended()).stdout).toBe('end\n');
  });

  test('tells a death by signal as 128 and its number', async () => {
    await start();
    expect((await exec('kill -KILL $$').ended()).log.slice(-2)).toEqual(['exit', 'exit:89']);
  });

  test('sees only its own environment, HOME and TMPDIR of the sandbox', async () => {
    await start();
    const view = emulator.sprite('a')!;
    const client = await exec('echo $HOME; echo $TMPDIR; pwd; echo $PRIVATE').ended();
    expect(client.stdout).toBe(`${view.home}\n${view.directory}/tmp\n${view.home}\n\n`);
  });

  test('a program that is not there is an error frame and an exit', async () => {
    await start();
    const client = await open('/a/exec', [['cmd', 'no-such-program']]).ended();
    expect(client.log).toEqual(['error', 'exit', 'exit:7f']);
    expect(client.texts[0]).toEqual({ type: 'error', error: 'no-such-program: not found' });
  });

  test('the handshake tells the version and what it can do', async () => {
    await start();
    const client = await exec('true').ended();
    expect(client.headers).toMatchObject({ 'sprite-version': '0.0.1-rc46', 'x-sprite-capabilities': 'signal' });
  });

  test('the socket lingers after the exit', async () => {
    await start({ lingerMs: Infinity });
    const client = await exec('true').until(({ log }) => log.at(-1) === 'exit:00');
    await sessions();
    expect(client.socket.readyState).toBe(client.socket.OPEN);
  });

  test('output from before the attach is lost but for the last bytes', async () => {
    await start({ attachDelayMs: 300, earlyBytes: 10 });
    const client = await exec('printf 0123456789abcdef').ended();
    expect([client.stdout, client.exit]).toEqual(['6789abcdef', 0]);
  });

  test('a process waits for a client that does not read, and nothing is lost', async () => {
    await start();
    const client = exec('for i in $(seq 1 100); do head -c 1000000 /dev/zero; echo $i >"$HOME/progress"; done');
    await client.until(({ log }) => log.length > 2);
    client.socket.pause();
    const progress = join(emulator.sprite('a')!.home, 'progress');
    const megabytes = async () => Number(await readFile(progress, 'utf8').catch(() => '0'));
    let before: number;
    do {
      before = await megabytes();
      await new Promise((resolve) => setTimeout(resolve, 700));
    } while (before !== (await megabytes()));
    // What stands between the two: queues of 1 MiB and the buffers of the connection.
    expect(before).toBeLessThan(30);
    client.socket.resume();
    await client.ended();
    expect([client.stdout.length, client.exit]).toEqual([100_000_000, 0]);
  });
});

describe('a command on a terminal', () => {
  test('prints raw bytes, tells its exit in text and is cut off', async () => {
    await start();
    const client = await exec('stty size; exit 3', TTY, ['rows', '50'], ['cols', '132']).ended();
    expect([client.stdout, client.exit, client.end]).toEqual(['50 132\r\n', 3, 1006]);
    expect([client.log[0], client.log.at(-1)]).toEqual(['session_info', 'exit']);
  });

  test('is resized', async () => {
    await start();
    const client = exec('read -r line; stty size', TTY);
    await client.until(({ log }) => log.length > 0);
    client.socket.send(JSON.stringify({ type: 'resize', cols: 100, rows: 40 }));
    client.stdin('go\n');
    expect((await client.ended()).stdout).toBe('go\r\n40 100\r\n');
  });

  test('a signal by text reaches it', async () => {
    await start();
    const client = exec('echo up; sleep 100', TTY);
    await client.until(({ stdout }) => stdout.includes('up'));
    client.socket.send('{"type":"signal","signal":"TERM"}');
    expect((await client.ended()).exit).toBe(143);
  });
});

describe('sessions', () => {
  test('are listed while they live', async () => {
    await start();
    const client = exec('read -r line', STDIN);
    await client.until(({ log }) => log.length > 0);
    expect(await sessions()).toEqual([
      expect.objectContaining({ id: client.session, tty: false, is_active: false, workdir: '/home/sprite' }),
    ]);
    client.stdin('go\n');
    await client.until(({ log }) => log.includes('exit'));
    expect(await sessions()).toEqual([]);
  });

  test.each([['by path'], ['by query']])('are attached to %s, with what they printed last', async (how) => {
    await start();
    const first = exec('seq 1 9; read -r line; echo $line', STDIN, ['detachable', 'true']);
    await first.until(({ stdout }) => stdout.includes('9'));
    first.socket.terminate();
    const id = first.session;
    const second = how === 'by path' ? open(`/a/exec/${id}`, [STDIN]) : open('/a/exec', [['id', id], STDIN]);
    await second.until(({ stdout }) => stdout.includes('9'));
    second.stdin('hello\n');
    await second.ended();
    expect([second.session, second.stdout, second.exit]).toEqual([id, '1\n2\n3\n4\n5\n6\n7\n8\n9\nhello\n', 0]);
  });

  test('replay the last 16 KiB, which begin in the middle of a line', async () => {
    await start();
    const first = exec('seq 1 100000; read -r line', STDIN);
    await first.until(({ stdout }) => stdout.endsWith('100000\n'));
    const second = open(`/a/exec/${first.session}`, [STDIN]);
    await second.until(({ stdout }) => stdout.endsWith('100000\n'));
    expect(second.stdout).toBe(first.stdout.slice(-16_384));
    first.stdin('\n');
    expect([(await first.ended()).exit, (await second.ended()).exit]).toEqual([0, 0]);
  });

  test('an unknown one is a 404 in the place of the handshake', async () => {
    await start();
    const client = await open('/a/exec/999999', []).ended();
    expect(client.refused).toEqual({ status: 404, body: '{"error":"session not found: 999999"}' });
  });

  test('a client that attached without stdin is not heard', async () => {
    await start();
    const first = exec('read -r line; echo $line', STDIN);
    await first.until(({ log }) => log.length > 0);
    const second = open(`/a/exec/${first.session}`, [['stdin', 'false']]);
    await second.until(({ log }) => log.length > 0);
    second.stdin('second\n');
    const heard = new Promise((resolve) => second.socket.once('pong', resolve));
    second.socket.ping();
    await heard;
    first.stdin('first\n');
    expect((await second.ended()).stdout).toBe('first\n');
  });

  test('the wrong query starts a new command', async () => {
    await start();
    const client = open('/a/exec', [['session_id', '1'], STDIN]);
    await client.until(({ log }) => log.length > 0);
    expect(String(client.texts[0]!['command'])).toMatch(/\/bash$/);
  });

  test('end some time after the last client left, unless they are detachable', async () => {
    await start({ runAfterDisconnectMs: 50 });
    const short = exec('sleep 100');
    const long = exec('sleep 100', ['detachable', 'true'], ['max_run_after_disconnect', '0']);
    for (const client of [short, long]) await client.until(({ log }) => log.length > 0);
    for (const client of [short, long]) client.socket.terminate();
    await gone(short.session);
    expect((await sessions()).map(({ id }) => id)).toEqual([long.session]);
  });
});

describe('kill', () => {
  async function kill(id: string, query = ''): Promise<Response> {
    return await call('POST', `/a/exec/${id}/kill${query}`);
  }

  async function running(script: string, ...more: string[][]): Promise<Client> {
    return await exec(script, ...more).until(({ stdout }) => stdout.includes('up'));
  }

  test('of a willing command: signal, exited, complete', async () => {
    await start();
    const client = await running('echo up; sleep 100');
    const pid = Number(client.session);
    expect(await lines(await kill(client.session))).toEqual([
      { type: 'signal', message: `sent SIGTERM to process group ${pid}`, signal: 'SIGTERM', pid },
      { type: 'exited', message: expect.any(String) },
      { type: 'complete', exit_code: 143 },
    ]);
    expect((await client.ended()).exit).toBe(143);
    expect(await sessions()).toEqual([]);
  });

  test('of a stubborn one: signal, timeout, killed, complete', async () => {
    await start();
    const client = await running("trap '' TERM; echo up; while :; do sleep 1; done");
    const told = await lines(await kill(client.session, '?timeout=100ms&signal=TERM'));
    expect(told.map(({ type }) => type)).toEqual(['signal', 'timeout', 'killed', 'complete']);
    expect(told.at(-1)).toEqual({ type: 'complete', exit_code: 137 });
  });

  test('of a terminal: a signal line after exited', async () => {
    await start();
    const client = await running('echo up; sleep 100', TTY);
    const told = await lines(await kill(client.session));
    expect(told.map(({ type }) => type)).toEqual(['signal', 'exited', 'signal', 'complete']);
    expect(told.at(-1)).toEqual({ type: 'complete', exit_code: 143 });
  });

  test('with no time to wait proves nothing', async () => {
    await start();
    const client = await running("trap '' TERM; echo up; while :; do sleep 1; done");
    const told = await lines(await kill(client.session, '?timeout=0s'));
    expect(told.map(({ type }) => type)).toEqual(['signal', 'complete']);
    expect(await sessions()).toHaveLength(1);
  });

  test('refuses what it does not know', async () => {
    await start();
    const client = await running('echo up; sleep 100');
    expect((await kill(client.session, '?signal=NONE')).status).toBe(400);
    expect((await kill(client.session, '?timeout=soon')).status).toBe(400);
    expect((await kill('999999')).status).toBe(404);
    await lines(await kill(client.session, '?signal=SIGKILL'));
    expect((await kill(client.session)).status).toBe(410);
  });
});

describe('exec over POST', () => {
  test('takes stdin from the body and answers with frames', async () => {
    await start();
    const response = await fetch(`${emulator.url}/v1/sprites/a/exec?cmd=cat&stdin=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${emulator.token}` },
      body: 'hello',
    });
    expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.from('\u0001hello\u0003\u0000'));
  });

  test('HEAD tells the version and starts nothing', async () => {
    await start();
    const response = await call('HEAD', '/a/exec');
    expect([response.status, response.headers.get('sprite-version')]).toEqual([200, '0.0.1-rc46']);
    expect(emulator.sprite('a')!.status).toBe('cold');
  });
});

describe('faults of an exec', () => {
  async function faulty(rewrite: StreamRewrite, script = 'printf "héllo"; exit 5'): Promise<Client> {
    await start();
    emulator.faults.add({ upgrade: true, rewrite });
    return await exec(script).ended();
  }

  test.each([[1000], [1006], [1011]])('it ends with %d and no exit', async (code) => {
    const client = await faulty(EXEC_FAULTS.endsWithoutExit(code));
    expect([client.exit, client.end, client.stdout.length]).toEqual([undefined, code, 6]);
  });

  test.each([
    ['emptyExit', ['exit', 'exit:']],
    ['twoByteExit', ['exit', 'exit:0005']],
    ['unknownStream', ['exit', 'stream 9', 'exit:05']],
    ['textExitOnly', ['exit']],
    ['binaryExitOnly', ['exit:05']],
    ['repeatedExit', ['exit', 'exit:05', 'exit:05']],
  ] as const)('%s', async (name, end) => {
    expect((await faulty(EXEC_FAULTS[name])).log).toEqual(['session_info', 'stream 1', ...end]);
  });

  test('output is cut in the middle of characters', async () => {
    const client = await faulty(EXEC_FAULTS.splitOutput);
    expect(client.log.filter((entry) => entry === 'stream 1')).toHaveLength(6);
    expect(Buffer.from(client.stdout, 'latin1').toString()).toBe('héllo');
  });

  test('the text exit comes before the last output', async () => {
    const client = await faulty(EXEC_FAULTS.textExitBeforeLastOutput());
    expect(client.log).toEqual(['session_info', 'exit', 'stream 1', 'exit:05']);
  });
});
