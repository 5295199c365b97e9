import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { processTable } from '#libs/process';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { DaytonaEmulator } from './daytona-emulator.js';
import { LOG_FAULTS, TOOLBOX_ANSWERS } from './faults.js';
import type { DaytonaEmulatorOptions } from './options.js';

let emulator: DaytonaEmulator;
let base: string;

afterEach(async () => await emulator.close());

type Json = Record<string, unknown>;

const headers = () => ({ authorization: `Bearer ${emulator.token}`, 'content-type': 'application/json' });

async function api(method: string, path: string, body?: unknown): Promise<Json> {
  const response = await fetch(emulator.url + path, {
    method,
    headers: headers(),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return (await response.json()) as Json;
}

/** With one sandbox, `a`, that runs. */
async function start(options: Partial<DaytonaEmulatorOptions> = {}, body: Json = {}): Promise<void> {
  emulator = await DaytonaEmulator.start(options);
  const { id } = await api('POST', '/sandbox', { name: 'a', ...body });
  base = `${emulator.url.replace('/api', '/toolbox')}/${id as string}`;
}

async function call(method: string, path: string, body?: unknown, more = {}): Promise<Response> {
  return await fetch(base + path, {
    method,
    headers: { ...headers(), ...more },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function answer(method: string, path: string, body?: unknown, more = {}): Promise<[number, unknown]> {
  const response = await call(method, path, body, more);
  const text = await response.text();
  const json = (response.headers.get('content-type') ?? '').startsWith('application/json');
  return [response.status, json ? (JSON.parse(text) as unknown) : text];
}

async function execute(command: string, more: Json = {}): Promise<[exitCode: unknown, result: unknown]> {
  const [, body] = await answer('POST', '/process/execute', { command, ...more });
  const { exitCode, result } = body as Json;
  return [exitCode, result];
}

async function session(id = 's'): Promise<void> {
  expect(await answer('POST', '/process/session', { sessionId: id })).toEqual([201, '']);
}

/** Begins a command in the background. @returns the path of its record */
async function begin(command: string, more: Json = {}): Promise<string> {
  const [status, body] = await answer('POST', '/process/session/s/exec', { command, runAsync: true, ...more });
  expect([status, Object.keys(body as object)]).toEqual([202, ['cmdId']]);
  return `/process/session/s/command/${(body as { cmdId: string }).cmdId}`;
}

const SPLIT = { 'x-daytona-split-output': 'true' };

async function log(path: string, more: Json = SPLIT): Promise<string> {
  return await (await call('GET', `${path}/logs`, undefined, more)).text();
}

async function logHolds(path: string, text: string): Promise<void> {
  while (!(await log(path)).includes(text));
}

/** The exit code of a command, once it has one. */
async function exitOf(path: string): Promise<unknown> {
  for (;;) {
    const [, body] = await answer('GET', path);
    if ('exitCode' in (body as Json)) return (body as Json)['exitCode'];
  }
}

interface Followed {
  readonly frames: Buffer[];
  readonly closed: Promise<number>;
  readonly socket: WebSocket;
}

function follow(path: string, query = '?follow=true', more: Json = SPLIT): Followed {
  const socket = new WebSocket(`${base.replace('http', 'ws')}${path}/logs${query}`, {
    headers: { ...headers(), ...more } as Record<string, string>,
  });
  const frames: Buffer[] = [];
  socket.on('message', (data: Buffer) => frames.push(data));
  socket.on('error', () => {});
  return { socket, frames, closed: new Promise((resolve) => socket.once('close', resolve)) };
}

function alive(pid: string | number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.[0] !== 'Z';
  } catch {
    return false;
  }
}

async function dead(pid: string | number): Promise<void> {
  while (alive(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function inState(state: string): Promise<void> {
  while (emulator.sandbox('a')?.state !== state) await new Promise((resolve) => setTimeout(resolve, 2));
}

const OUT = '\u0001\u0001\u0001';
const ERR = '\u0002\u0002\u0002';

describe('the proxy', () => {
  test('wants the API key and an id', async () => {
    await start();
    const response = await fetch(`${base}/version`);
    expect([response.status, await response.json()]).toEqual([
      401,
      {
        statusCode: 401,
        message: 'unauthorized: authentication is missing or failed',
        code: 'UNAUTHORIZED',
        timestamp: expect.any(String),
        path: '/version',
        method: 'GET',
        source: 'DAYTONA_DAEMON',
      },
    ]);
    base = emulator.url.replace('/api', '/toolbox/a');
    expect((await answer('GET', '/version'))[0]).toBe(404);
  });

  test('reaches no sandbox that is stopped, archived or gone', async () => {
    await start({ delaysMs: { stop: Infinity, destroy: Infinity } });
    await api('POST', '/sandbox/a/stop');
    expect(await answer('GET', '/version')).toEqual([502, '']);
    await emulator.finish('a');
    const [status, body] = await answer('GET', '/version');
    expect([status, (body as Json)['message']]).toEqual([
      400,
      'bad request: failed to resolve container IP after 3 attempts: no IP address found. Is the Sandbox started?',
    ]);
    await api('POST', '/sandbox/a/archive');
    await inState('archived');
    expect(await answer('GET', '/version')).toMatchObject([404, { message: 'not found: sandbox container not found' }]);
    await api('DELETE', '/sandbox/a');
    expect(await answer('GET', '/version')).toMatchObject([404, { code: 'NOT_FOUND' }]);
  });

  test('gives 502 while a daemon boots and once it was killed, though the sandbox is called started', async () => {
    await start({ bootRequests: 1 });
    expect(await answer('GET', '/version')).toEqual([502, '']);
    expect(await answer('GET', '/version')).toEqual([200, { version: 'v0.205.1' }]);
    await emulator.killDaemon('a');
    expect(await answer('GET', '/version')).toEqual([502, '']);
    expect((await api('GET', '/sandbox/a'))['state']).toBe('started');
  });

  test('gives 502 to a call whose sandbox is stopped meanwhile', async () => {
    await start();
    const waiting = answer('POST', '/process/execute', { command: 'sleep 100' });
    await emulator.calls.arrived({ path: '/toolbox/:id/process/execute' });
    await api('POST', '/sandbox/a/stop');
    expect(await waiting).toEqual([502, '']);
  });

  test('knows the directories, and no other path', async () => {
    await start();
    expect(await answer('GET', '/work-dir')).toEqual([200, { dir: '/home/daytona' }]);
    expect(await answer('GET', '/user-home-dir')).toEqual([200, { dir: '/home/daytona' }]);
    expect(await answer('GET', '/none')).toEqual([404, '404 page not found']);
  });
});

test('a call to the toolbox is activity, unless it says that it is none', async () => {
  await start();
  const last = async () => (await api('GET', '/sandbox/a'))['lastActivityAt'] as string;
  const before = await last();
  await call('GET', '/version', undefined, { 'x-daytona-skip-last-activity-update': 'true' });
  expect(await last()).toBe(before);
  await call('GET', '/version');
  expect((await last()) > before).toBe(true);
});

describe('an execute', () => {
  test('is a script on the stdin of a shell, with one output', async () => {
    await start({}, { env: { A: 'own' } });
    expect(await execute('echo $A; echo err >&2; cat\nnever a command\n')).toEqual([
      0,
      'own\nerr\nnever a command\n\n',
    ]);
    expect(await execute('exit 7')).toEqual([7, '']);
  });

  test('takes envs and ignores env', async () => {
    await start();
    expect(await execute('echo $A$B', { env: { A: '1' }, envs: { B: '2' } })).toEqual([0, '2\n']);
    const [status, body] = await answer('POST', '/process/execute', { command: 'true', envs: { '1a': '' } });
    expect([status, (body as Json)['message']]).toEqual([400, 'bad request: invalid environment variable name: 1a']);
  });

  test('runs where it was told to, or not at all', async () => {
    await start();
    expect(await execute('mkdir -p sub; basename "$PWD"')).toEqual([0, 'daytona\n']);
    expect(await execute('basename "$PWD"', { cwd: '/home/daytona/sub' })).toEqual([0, 'sub\n']);
    expect(await execute('true', { cwd: '/none' })).toEqual([-1, 'chdir /none: no such file or directory']);
  });

  test('tells a signal to its shell as -1, one to a child as the shell has it', async () => {
    await start();
    expect(await execute('kill -KILL $$')).toEqual([-1, '']);
    expect((await execute('sh -c "kill -TERM \\$\\$"'))[0]).toBe(143);
  });

  test('makes replacement characters of what is no UTF-8', async () => {
    await start();
    expect(await execute('printf "a\\377b"')).toEqual([0, 'a\ufffdb']);
  });

  test('is killed with its group at its time limit, and its output is lost', async () => {
    await start();
    const [status, body] = await answer('POST', '/process/execute', {
      command: 'echo $$ >"$HOME/pid"; echo lost; sleep 100',
      timeout: 1,
    });
    expect([status, body]).toEqual([
      408,
      expect.objectContaining({
        message: 'request timeout: command execution timeout',
        code: 'PROCESS_EXECUTION_TIMEOUT',
      }),
    ]);
    await dead(readFileSync(join(emulator.sandbox('a')!.home, 'pid'), 'utf8').trim());
  });

  test('goes on when its client hangs up', async () => {
    await start();
    const gone = new AbortController();
    const url = `${base}/process/execute`;
    const body = JSON.stringify({ command: 'touch "$HOME/began"; sleep 0.2; touch "$HOME/done"' });
    const asked = fetch(url, { method: 'POST', headers: headers(), body, signal: gone.signal }).catch(() => 'aborted');
    const { home } = emulator.sandbox('a')!;
    while (!existsSync(join(home, 'began'))) await new Promise((resolve) => setTimeout(resolve, 5));
    gone.abort();
    expect(await asked).toBe('aborted');
    while (!existsSync(join(home, 'done'))) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  test('is held by a background process that keeps its output, for a time', async () => {
    await start();
    expect(await execute('(sleep 0.1; echo late) & echo first')).toEqual([0, 'first\nlate\n']);
    await emulator.close();
    await start({ executeHoldMs: 400 });
    const before = performance.now();
    expect(await execute('sleep 100 & echo held')).toEqual([0, 'held\n']);
    expect(performance.now() - before).toBeGreaterThan(390);
  });

  test.each([[{}], [{ command: ' ' }], [{ command: 1 }]])('refuses %j', async (body) => {
    await start();
    expect(await answer('POST', '/process/execute', body)).toMatchObject([400, { code: 'INVALID_REQUEST_BODY' }]);
  });
});

describe('a session', () => {
  test('is made once, listed in a bare array and deleted', async () => {
    await start();
    await session();
    expect(await answer('POST', '/process/session', { sessionId: 's' })).toMatchObject([
      409,
      { message: 'conflict: session already exists', code: 'CONFLICT' },
    ]);
    expect((await answer('POST', '/process/session', { sessionId: 'entrypoint' }))[0]).toBe(400);
    expect(await answer('GET', '/process/session')).toEqual([200, [{ sessionId: 's', commands: [] }]]);
    expect(await answer('GET', '/process/session/entrypoint')).toMatchObject([200, { commands: [] }]);
    expect(await answer('GET', '/process/session/entrypoint/logs')).toEqual([200, '']);
    expect((await call('DELETE', '/process/session/s')).status).toBe(204);
    expect(await answer('GET', '/process/session/s')).toMatchObject([404, { message: 'not found: session not found' }]);
    expect((await call('DELETE', '/process/session/s')).status).toBe(404);
  });

  test('is one shell: directory, variables and functions stay', async () => {
    await start();
    await session();
    const exec = async (command: string) => (await answer('POST', '/process/session/s/exec', { command }))[1] as Json;
    await exec('mkdir sub; cd sub; export A=1; f() { echo "f $1"; }');
    expect(await exec('basename "$PWD"; echo $A; f 2; (exit 3)')).toEqual({
      cmdId: expect.any(String),
      output: 'sub\n1\nf 2\n',
      exitCode: 3,
    });
  });

  test('runs one command after the other', async () => {
    await start();
    await session();
    const first = await begin('read line; echo "first $line"');
    const second = await begin('echo second');
    await logHolds(first, '');
    expect((await answer('GET', second))[1]).not.toHaveProperty('exitCode');
    expect(await answer('POST', `${second}/input`, { data: 'x' })).toMatchObject([
      500,
      { message: expect.stringMatching(/^internal server error: failed to open input pipe: .*no such file/) },
    ]);
    await until204(`${first}/input`, { data: 'x' });
    expect([await exitOf(first), await exitOf(second)]).toEqual([0, 0]);
    expect(await log(second)).toBe(`${OUT}second\n`);
  });

  test('marks each line with its stream, adds the last newline and drops NUL', async () => {
    await start();
    await session();
    const path = await begin('printf "a\\0b\\r\\n\\377"; sleep 0.1; printf "e\\n\\nend" >&2');
    await exitOf(path);
    const bytes = Buffer.from(await (await call('GET', `${path}/logs`, undefined, SPLIT)).arrayBuffer());
    const text = bytes.toString('latin1').replaceAll(OUT, '|out ').replaceAll(ERR, '|err ');
    expect(text.split('|').toSorted()).toEqual(
      ['', 'out ab\r\n', 'out \u00ff\n', 'err e\n', 'err \n', 'err end\n'].toSorted(),
    );
  });

  test('has no exit code while a background process keeps the output', async () => {
    await start();
    await session();
    const path = await begin('sleep 100 & echo "first $!"');
    await logHolds(path, 'first');
    await execute('true');
    expect((await answer('GET', path))[1]).not.toHaveProperty('exitCode');
    process.kill(Number(/\d+/.exec(await log(path))![0]));
    expect(await exitOf(path)).toBe(0);
  });

  test('that a command ends is wedged: no exit code ever, and no further command', async () => {
    await start();
    await session();
    const path = await begin('echo last; exit 3');
    await logHolds(path, 'last');
    await dead(emulator.sandbox('a')!.pids[0]!);
    const broken = 'failed to execute command: bad request: failed to write command: write |1: broken pipe';
    let refused: unknown;
    do refused = await answer('POST', '/process/session/s/exec', { command: 'true', runAsync: true });
    while ((refused as [number])[0] === 202);
    expect(refused).toEqual([500, expect.objectContaining({ statusCode: 500, message: broken })]);
    expect((await answer('GET', path))[1]).not.toHaveProperty('exitCode');
    expect(await answer('POST', `${path}/input`, { data: 'x' })).toMatchObject([
      410,
      { message: 'gone: session has ended' },
    ]);
  });

  test('that is not there makes an exec a 500', async () => {
    await start();
    expect(await answer('POST', '/process/session/none/exec', { command: 'true' })).toMatchObject([
      500,
      { message: 'failed to execute command: not found: session not found' },
    ]);
  });

  test('that is deleted ends its tree, with KILL after a grace, though not what left it', async () => {
    await start({ sessionGraceMs: 300 });
    await session();
    const script = [
      'sh -c \'trap "" TERM; echo stubborn $$; while :; do sleep 0.1; done\' &',
      'setsid sh -c "echo below \\$\\$; exec sleep 100" &',
      '(setsid sh -c "echo away \\$\\$; exec sleep 100" &)',
      'wait',
    ];
    const path = await begin(script.join('\n'));
    for (const name of ['stubborn', 'below', 'away']) await logHolds(path, name);
    const pid = async (name: string) => new RegExp(`${name} (\\d+)`).exec(await log(path))![1]!;
    const [stubborn, below, away] = [await pid('stubborn'), await pid('below'), await pid('away')];
    const before = performance.now();
    expect((await call('DELETE', '/process/session/s')).status).toBe(204);
    expect(performance.now() - before).toBeGreaterThan(290);
    expect([alive(stubborn), alive(below), alive(away)]).toEqual([false, false, true]);
  });

  test('is forgotten by a stop, while its files stay', async () => {
    await start();
    await session();
    const path = await begin('echo $$; sleep 100');
    await logHolds(path, '\n');
    const pid = /\d+/.exec(await log(path))![0];
    await api('POST', '/sandbox/a/stop');
    await inState('stopped');
    expect(alive(pid)).toBe(false);
    await api('POST', '/sandbox/a/start');
    expect(await answer('GET', '/process/session')).toEqual([200, []]);
    expect((await answer('GET', path))[0]).toBe(404);
    expect((await execute(`cat "$HOME"/.daytona/sessions/s/*/output.log`))[1]).toBe(`${OUT}${pid}\n`);
  });

  test('runs a shim that gives a command an end of its stdin, its own group and an exit code', async () => {
    await start();
    await session();
    const shim = `D="$HOME/shim"
mkdir -p "$D" && mkfifo "$D/fifo" && : >> "$D/in"
sleep 2147483647 </dev/null >/dev/null 2>&1 & H=$!
echo "$H" > "$D/hold"
tail -c +1 -s 0.1 -f --pid="$H" "$D/in" </dev/null > "$D/fifo" 2>/dev/null &
( exec setsid sh -c 'echo $$ > "$0/pgid"; eval "$1"' "$D" 'echo up; wc -c; exit 7' ) < "$D/fifo"
C=$?
kill "$H" 2>/dev/null
( exit "$C" )`;
    const path = await begin(shim);
    await logHolds(path, 'up');
    for (const part of ['one', 'two']) await execute(`printf ${part} >> "$HOME/shim/in"`);
    expect((await answer('GET', path))[1]).not.toHaveProperty('exitCode');
    await execute('kill $(cat "$HOME/shim/hold")');
    expect(await exitOf(path)).toBe(7);
    expect(await log(path)).toBe(`${OUT}up\n${OUT}6\n`);
  });

  test('tells of a command that has just ended a 500 when a fault wants it', async () => {
    await start();
    await session();
    const path = await begin('true');
    await exitOf(path);
    emulator.faults.add({ path: /\/command\/[^/]+$/, answer: TOOLBOX_ANSWERS.exitCodeNotWritten });
    expect(await answer('GET', path)).toMatchObject([500, { message: expect.stringContaining('failed to convert') }]);
    expect(await answer('GET', path)).toMatchObject([200, { exitCode: 0 }]);
  });
});

/** Repeats an input until its command has begun to run. */
async function until204(path: string, body: Json): Promise<void> {
  let status: number;
  do ({ status } = await call('POST', path, body));
  while (status === 500);
  expect(status).toBe(204);
}

describe('input', () => {
  test('is a line each, echoed unless that is suppressed, and never ends', async () => {
    await start();
    await session();
    const loud = await begin('read a; read b; echo "$a $b"');
    await until204(`${loud}/input`, { data: 'one' });
    await until204(`${loud}/input`, { data: 'two\n' });
    expect(await exitOf(loud)).toBe(0);
    expect(await log(loud)).toBe(`${OUT}one\n${OUT}two\n${OUT}one two\n`);
    const quiet = await begin('read a; echo "$a"; cat; echo never', { suppressInputEcho: true });
    await until204(`${quiet}/input`, { data: 'x' });
    await logHolds(quiet, `${OUT}x\n`);
    await until204(`${quiet}/input`, { data: 'y' });
    await logHolds(quiet, `${OUT}y\n`);
    expect((await answer('GET', quiet))[1]).not.toHaveProperty('exitCode');
  });

  test('is refused once the end of the command was read', async () => {
    await start();
    await session();
    const path = await begin('(exit 3)');
    await exitOf(path);
    expect(await answer('POST', `${path}/input`, { data: 'x' })).toMatchObject([
      410,
      { message: 'gone: command has already completed with exit code 3', code: 'COMMAND_ALREADY_COMPLETED' },
    ]);
    expect((await answer('POST', '/process/session/s/command/none/input', { data: 'x' }))[0]).toBe(404);
  });

  test('to a command that never reads waits beyond the size of a pipe', async () => {
    await start();
    await session();
    await execute('mkfifo "$HOME/go"');
    const path = await begin('touch "$HOME/up"; read go <"$HOME/go"; head -c 200001 | wc -c', {
      suppressInputEcho: true,
    });
    const { home } = emulator.sandbox('a')!;
    while (!existsSync(join(home, 'up'))) await new Promise((resolve) => setTimeout(resolve, 5));
    let answered = false;
    const sent = call('POST', `${path}/input`, { data: 'x'.repeat(200_000) }).then(() => (answered = true));
    await execute('true');
    expect(answered).toBe(false);
    await execute('echo go >"$HOME/go"');
    expect(await sent).toBe(true);
    await logHolds(path, '200001');
  });

  test('of a synchronous command is at its end at once', async () => {
    await start();
    await session();
    const [, body] = await answer('POST', '/process/session/s/exec', { command: 'cat; echo done' });
    expect(body).toMatchObject({ output: 'done\n', exitCode: 0 });
  });
});

describe('logs', () => {
  test.each<[string, Json, string | Json]>([
    ['nothing is said', {}, 'out\nerr\n'],
    ['they are to be split', SPLIT, `${OUT}out\n${ERR}err\n`],
    ['the client is old', { 'x-daytona-sdk-version': '0.26.9' }, 'out\nerr\n'],
    ['the client is newer', { 'x-daytona-sdk-version': '0.27.0' }, `${OUT}out\n${ERR}err\n`],
    [
      'the client is current',
      { 'x-daytona-sdk-version': '0.167.0' },
      { output: `${OUT}out\n${ERR}err\n`, stdout: 'out\n', stderr: 'err\n' },
    ],
    [
      'the client is in development',
      { 'x-daytona-sdk-version': '0.0.0-dev' },
      { output: `${OUT}out\n${ERR}err\n`, stdout: 'out\n', stderr: 'err\n' },
    ],
  ])('when %s', async (_, more, expected) => {
    await start();
    await session();
    const command = 'echo out; sleep 0.1; echo err >&2';
    const path = await begin(command);
    await exitOf(path);
    expect(await answer('GET', `${path}/logs`, undefined, more)).toEqual([200, expected]);
    const [, sync] = await answer('POST', '/process/session/s/exec', { command }, more);
    expect(sync).toMatchObject({ ...(typeof expected === 'string' ? { output: expected } : expected), exitCode: 0 });
  });

  test('are followed from the first byte in frames of a kilobyte, to a close after the exit', async () => {
    await start();
    await session();
    const path = await begin('seq 1 2000; read line; echo end');
    await logHolds(path, '2000\n');
    const { frames, closed } = follow(path);
    await until204(`${path}/input`, { data: 'x' });
    expect(await closed).toBe(1000);
    expect(Buffer.concat(frames).toString()).toBe(await log(path));
    expect(Math.max(...frames.map(({ length }) => length))).toBe(1024);
  });

  test('without follow are what there is', async () => {
    await start();
    await session();
    const path = await begin('echo one; sleep 100');
    await logHolds(path, 'one');
    const { frames, closed } = follow(path, '');
    expect([await closed, Buffer.concat(frames).toString()]).toEqual([1000, `${OUT}one\n`]);
  });

  test('on a socket are merged where nothing else was asked for, wherever a frame cuts', async () => {
    await start();
    await session();
    const path = await begin('seq 1 2000; echo err >&2');
    await exitOf(path);
    const { frames, closed } = follow(path, '?follow=true', {});
    await closed;
    expect(Buffer.concat(frames).toString()).toBe(await log(path, {}));
  });

  test('take the version of the client as a sub-protocol', async () => {
    await start();
    await session();
    const path = await begin('echo one');
    await exitOf(path);
    const protocol = 'X-Daytona-SDK-Version~0.200.0';
    const socket = new WebSocket(`${base.replace('http', 'ws')}${path}/logs?follow=true`, protocol, {
      headers: headers(),
    });
    const frame = await new Promise<Buffer>((resolve) => socket.once('message', resolve));
    expect([socket.protocol, frame.toString()]).toEqual([protocol, `${OUT}one\n`]);
  });

  test('of a command that wedged its session never close, until it is deleted', async () => {
    await start({ logQuietMs: 1 });
    await session();
    const path = await begin('echo one; exit 0');
    const { socket, frames, closed } = follow(path);
    await logHolds(path, 'one');
    await dead(emulator.sandbox('a')!.pids[0]!);
    while (frames.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await log(path);
    expect(socket.readyState).toBe(WebSocket.OPEN);
    await call('DELETE', '/process/session/s');
    expect(await closed).toBe(1000);
  });

  test('break when the sandbox stops', async () => {
    await start();
    await session();
    const path = await begin('echo one; sleep 100');
    const { frames, closed } = follow(path);
    while (frames.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await api('POST', '/sandbox/a/stop?force=true');
    expect(await closed).toBe(1006);
  });

  test('over plain HTTP can be followed too, merged', async () => {
    await start();
    await session();
    const path = await begin('echo one >&2; read line; echo two', { suppressInputEcho: true });
    const response = await call('GET', `${path}/logs?follow=true`);
    await logHolds(path, 'one');
    await until204(`${path}/input`, { data: 'x' });
    expect([response.headers.get('content-type'), await response.text()]).toEqual([
      'application/octet-stream',
      'one\ntwo\n',
    ]);
  });

  test.each([
    ['end early, in order', LOG_FAULTS.endsAfter(5), 1000, 5],
    ['end early, as an error', LOG_FAULTS.endsAfter(5, 1011), 1011, 5],
    ['break', LOG_FAULTS.endsAfter(5, 1006), 1006, 5],
  ] as const)('can be so odd that they %s', async (_, rewrite, code, bytes) => {
    await start();
    await session();
    const path = await begin('echo out; echo err >&2');
    await exitOf(path);
    emulator.faults.add({ upgrade: true, rewrite });
    const { frames, closed } = follow(path);
    expect([await closed, Buffer.concat(frames).length]).toEqual([code, bytes]);
  });

  test('can come byte by byte, and never be closed', async () => {
    await start();
    await session();
    const path = await begin('echo out');
    await exitOf(path);
    emulator.faults.add({ upgrade: true, rewrite: LOG_FAULTS.splitFrames });
    const first = follow(path);
    expect(await first.closed).toBe(1000);
    expect(first.frames.map((frame) => frame.toString())).toEqual(Array.from(`${OUT}out\n`));
    emulator.faults.add({ upgrade: true, rewrite: LOG_FAULTS.neverCloses });
    const second = follow(path);
    await Promise.race([second.closed, follow(path).closed]);
    expect(second.socket.readyState).toBe(WebSocket.OPEN);
  });

  test('of what is not there are not found', async () => {
    await start();
    await session();
    expect(await answer('GET', '/process/session/s/command/none/logs')).toMatchObject([
      404,
      { message: 'not found: command not found' },
    ]);
    const { closed } = follow('/process/session/none/command/none');
    expect(await closed).toBe(1006);
    expect(emulator.calls.all.at(-1)!.status).toBe(404);
  });
});

describe('a terminal', () => {
  const connect = (path: string, protocols: string[] = []) => {
    const socket = new WebSocket(`${base.replace('http', 'ws')}${path}`, protocols, { headers: headers() });
    const seen = { texts: [] as Json[], output: '' };
    socket.on('message', (data: Buffer, binary) => {
      if (binary) seen.output += data.toString();
      else seen.texts.push(JSON.parse(data.toString()) as Json);
    });
    socket.on('error', () => {});
    const closed = new Promise<[number, string]>((resolve) => {
      socket.once('close', (code, reason) => resolve([code, reason.toString()]));
    });
    const shows = async (text: string) => {
      while (!seen.output.includes(text)) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    const opened = new Promise((resolve) => socket.once('open', resolve));
    return { socket, seen, closed, shows, opened };
  };

  test('is made, told of, connected to, resized and ended', async () => {
    await start();
    const body = { id: 't', envs: { GREETING: 'hello' }, cols: 100, rows: 30 };
    expect(await answer('POST', '/process/pty', body)).toEqual([201, { sessionId: 't' }]);
    expect((await answer('POST', '/process/pty', body))[0]).toBe(409);
    const shown = {
      id: 't',
      cwd: '/home/daytona',
      envs: { GREETING: 'hello' },
      cols: 100,
      rows: 30,
      createdAt: expect.any(String),
      active: true,
      lazyStart: false,
    };
    expect(await answer('GET', '/process/pty')).toEqual([200, { sessions: [shown] }]);
    const { socket, seen, closed, shows, opened } = connect('/process/pty/t/connect');
    await opened;
    socket.send('echo "<$GREETING $(stty size) $TERM>"\n');
    await shows('<hello 30 100 xterm-256color>');
    expect(seen.texts).toEqual([{ type: 'control', status: 'connected' }]);
    expect(await answer('POST', '/process/pty/t/resize', { cols: 90, rows: 20 })).toMatchObject([200, { cols: 90 }]);
    socket.send(Buffer.from('echo "<$(stty size)>"\n'));
    await shows('<20 90>');
    socket.send('exit 3\n');
    expect(await closed).toEqual([1011, '{"exitCode":3,"exitReason":"non-zero exit"}']);
    expect(await answer('GET', '/process/pty/t')).toEqual([404, { error: 'PTY session not found' }]);
  });

  test('that is deleted ends with 137', async () => {
    await start();
    await answer('POST', '/process/pty', { id: 't' });
    const { closed, opened } = connect('/process/pty/t/connect');
    await opened;
    expect(await answer('DELETE', '/process/pty/t')).toEqual([200, { message: 'PTY session deleted' }]);
    expect(await closed).toEqual([1011, '{"exitCode":137,"exitReason":"SIGKILL"}']);
  });

  test('is made and connected to at once, with variables in a sub-protocol, and tells of its exit twice', async () => {
    await start();
    const envs = `X-Daytona-Pty-Envs~${Buffer.from('{"GREETING":"hello"}').toString('base64url')}`;
    const { socket, seen, closed, shows, opened } = connect('/process/pty/create-connect?id=t&cols=90&rows=20', [
      envs,
      'X-Daytona-Pty-Exit-Control',
    ]);
    await opened;
    expect(socket.protocol).toBe(envs);
    socket.send('echo "<$GREETING $(stty size)>"; exit\n');
    await shows('<hello 20 90>');
    expect(await closed).toEqual([1000, '{"exitCode":0}']);
    expect(seen.texts).toEqual([
      { type: 'control', status: 'connected' },
      { type: 'control', status: 'exited', exitCode: 0 },
    ]);
  });

  test('that cannot be made says so on the socket', async () => {
    await start();
    const { seen, closed } = connect('/process/pty/create-connect?id=t&cols=1001');
    expect((await closed)[0]).toBe(1011);
    expect(seen.texts).toEqual([{ type: 'control', status: 'error', error: 'cols and rows must be from 1 to 1000' }]);
  });

  test.each([[{}], [{ id: 't', cols: 1001 }], [{ id: 't', rows: 0 }]])('refuses %j', async (body) => {
    await start();
    expect((await answer('POST', '/process/pty', body))[0]).toBe(400);
  });

  test('has no connection once its sandbox stops', async () => {
    await start();
    await answer('POST', '/process/pty', { id: 't' });
    const { closed, opened } = connect('/process/pty/t/connect');
    await opened;
    await api('POST', '/sandbox/a/stop');
    expect((await closed)[0]).toBe(1006);
    await inState('stopped');
    expect(emulator.sandbox('a')!.pids).toEqual([]);
  });
});

test('a stop asks before it kills, a forced one does not', async () => {
  await start();
  const trap =
    'sh -c \'trap "touch $HOME/asked" TERM; touch $HOME/up; while :; do sleep 0.01; done\' >/dev/null 2>&1 &';
  const { home, directory } = emulator.sandbox('a')!;
  for (const [force, asked] of [
    ['', true],
    ['?force=true', false],
  ] as const) {
    await execute(`rm -f "$HOME"/up "$HOME"/asked; ${trap}`);
    while (!existsSync(join(home, 'up'))) await new Promise((resolve) => setTimeout(resolve, 5));
    await api('POST', `/sandbox/a/stop${force}`);
    await inState('stopped');
    expect(existsSync(join(home, 'asked'))).toBe(asked);
    const left = (await processTable()).filter((entry) => entry.directoryMarker === directory && !entry.zombie);
    expect(left).toEqual([]);
    await api('POST', '/sandbox/a/start');
  }
});

test('a snapshot holds the files, and a sandbox of it begins with them', async () => {
  await start();
  await session();
  await begin('cat');
  await execute('echo kept >"$HOME/file"');
  await api('POST', '/sandbox/a/snapshot', { name: 's' });
  await inState('started');
  const { id } = await api('POST', '/sandbox', { name: 'b', snapshot: 's' });
  base = `${emulator.url.replace('/api', '/toolbox')}/${id as string}`;
  expect(await execute('cat "$HOME/file"')).toEqual([0, 'kept\n']);
});

test('closing in the middle of a snapshot leaves nothing', async () => {
  await start();
  await execute('i=0; while [ $i -lt 1500 ]; do echo $i >"$HOME/$i"; i=$((i + 1)); done');
  const root = dirname(emulator.sandbox('a')!.directory);
  await api('POST', '/sandbox/a/snapshot', { name: 's' });
  await emulator.close();
  expect(existsSync(root)).toBe(false);
});
