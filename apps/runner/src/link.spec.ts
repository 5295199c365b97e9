import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { WebSocketServer, type WebSocket } from 'ws';
import { LocalKeeper } from '#libs/process';
import {
  decodeDaemonFrame,
  encodeRequest,
  systemClock,
  type Clock,
  type DaemonFrame,
  type RequestBody,
  type RequestOp,
} from '#libs/protocol';
import { Daemon } from './daemon.js';
import { silentLog } from './log.js';

const SANDBOX = 'runner-0123456789abcdef0123456789abcdef-01234567';

type Reply = Extract<DaemonFrame, { kind: 'reply' }>;
type Event = Extract<DaemonFrame, { kind: 'event' }>;

/** Time that passes by itself, and jumps when told to. */
class JumpingClock implements Clock {
  private readonly due = new Set<{ ms: number; fn: () => void }>();
  now = (): number => systemClock.now();

  after(ms: number, fn: () => void): () => void {
    const cancel = systemClock.after(ms, () => fire());
    const timer = { ms, fn };
    const fire = (): void => {
      if (this.due.delete(timer)) fn();
    };
    this.due.add(timer);
    return () => {
      cancel();
      this.due.delete(timer);
    };
  }

  /** Fires the timers that were set for exactly this long. */
  expire(ms: number): number {
    const expired = [...this.due].filter((timer) => timer.ms === ms);
    for (const timer of expired) {
      this.due.delete(timer);
      timer.fn();
    }
    return expired.length;
  }
}

/** The platform's end, as far as a test needs one: sends requests and collects what comes back, in order. */
class Platform {
  readonly frames: DaemonFrame[] = [];
  private nextId = 1;
  private readonly changed = new Set<() => void>();

  constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      this.frames.push(decodeDaemonFrame(data.toString()));
      for (const wake of this.changed) wake();
    });
  }

  send<Op extends RequestOp>(op: Op, body: RequestBody<Op>): number {
    const id = this.nextId++;
    this.socket.send(encodeRequest(id, op, body));
    return id;
  }

  /** What `find` gives, as soon as it gives something. */
  async until<T>(find: () => T | undefined): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.changed.delete(wake);
          resolve();
        };
        this.changed.add(wake);
      });
    }
  }

  reply(id: number): Promise<Reply> {
    return this.until(() => this.frames.find((frame): frame is Reply => frame.kind === 'reply' && frame.id === id));
  }

  async ask<Op extends RequestOp>(op: Op, body: RequestBody<Op>): Promise<Record<string, unknown>> {
    const reply = await this.reply(this.send(op, body));
    return reply.ok ? (reply.result as Record<string, unknown>) : { ...reply.refusal };
  }

  async spawn(script: string, more: Partial<RequestBody<'spawn'>> = {}): Promise<string> {
    const result = await this.ask('spawn', { name: SANDBOX, cmd: 'sh', args: ['-c', script], ...more });
    return result['session_id'] as string;
  }

  events(id: string, replayFor?: number): Event[] {
    return this.frames.filter(
      (frame): frame is Event =>
        frame.kind === 'event' && frame.body.sessionId === id && frame.body.replayFor === replayFor,
    );
  }

  text(id: string, stream: 'stdout' | 'stderr' = 'stdout', replayFor?: number): string {
    let text = '';
    for (const { event, body } of this.events(id, replayFor)) {
      if (event === stream) text += Buffer.from((body as { data: Uint8Array }).data).toString('latin1');
    }
    return text;
  }

  /** Waits for the exit or error event and gives it without the session's id. */
  async end(id: string, replayFor?: number): Promise<Record<string, unknown>> {
    const { event, body } = await this.until(() =>
      this.events(id, replayFor).find(({ event: name }) => name === 'exit' || name === 'error'),
    );
    const { sessionId: _id, ...rest } = body;
    return { event, ...rest };
  }
}

let root: string;
let keeper: LocalKeeper;
let clock: JumpingClock;
let daemon: Daemon;
let running: Promise<number>;
let server: WebSocketServer;
let platform: Platform;

function nextPlatform(): Promise<Platform> {
  return new Promise((resolve) => server.once('connection', (socket) => resolve(new Platform(socket))));
}

/** Waits until the keeper says so; every change of it is announced. */
async function keeperShows(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'runner-link-'));
  const http = createServer();
  server = new WebSocketServer({ server: http });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  server.on('close', () => http.close());
  keeper = await LocalKeeper.open({ root });
  clock = new JumpingClock();
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  daemon = new Daemon(
    { url, token: 't', query: { name: 'n' } },
    // Redials are due after a millisecond: the jitter is drawn from the end of its window.
    { keeper, log: silentLog, clock, random: () => 1 - 1 / 15_000 },
  );
  const connected = nextPlatform();
  running = daemon.run();
  platform = await connected;
  await platform.ask('create', { name: SANDBOX });
});

afterEach(async () => {
  daemon.stop();
  await running;
  server.close();
  for (const client of server.clients) client.terminate();
  rmSync(root, { recursive: true });
});

describe('requests about sandboxes', () => {
  test('create, get, list, suspend, resume, destroy', async () => {
    expect(await platform.ask('get', { name: SANDBOX })).toEqual({ status: 'running', path: join(root, SANDBOX) });
    expect(await platform.ask('list', {})).toEqual({ names: [SANDBOX] });
    expect(await platform.ask('suspend', { name: SANDBOX })).toEqual({});
    expect(await platform.ask('get', { name: SANDBOX })).toMatchObject({ status: 'suspended' });
    expect(await platform.ask('resume', { name: SANDBOX })).toEqual({});
    expect(await platform.ask('destroy', { name: SANDBOX })).toEqual({});
    expect(await platform.ask('get', { name: SANDBOX })).toEqual({ error: 'not_found', effect: 'none' });
    expect(await platform.ask('destroy', { name: SANDBOX })).toEqual({});
  });

  test('write_file writes bytes, and refuses more than 8 MiB', async () => {
    const file = { name: SANDBOX, path: 'a/b.bin' };
    expect(await platform.ask('write_file', { ...file, data: Uint8Array.of(0, 255, 10), mode: 0o600 })).toEqual({});
    const { output } = await platform.ask('exec', { name: SANDBOX, cmd: 'cat', args: ['a/b.bin'] });
    expect(output).toBe(Buffer.from([0, 255, 10]).toString('base64'));
    expect(await platform.ask('write_file', { ...file, data: new Uint8Array(8 * 1024 * 1024 + 1) })).toEqual({
      error: 'invalid',
      detail: 'request_too_large',
      effect: 'none',
    });
  });

  test('exits of what suspend stopped precede its reply', async () => {
    const id = await platform.spawn('echo up; exec sleep 100');
    await platform.until(() => (platform.text(id) === 'up\n' ? true : undefined));
    expect(await platform.ask('suspend', { name: SANDBOX })).toEqual({});
    expect(platform.frames.at(-2)).toMatchObject({
      kind: 'event',
      event: 'exit',
      body: { code: 143, signal: 'SIGTERM' },
    });
  });
});

describe('exec', () => {
  const sh = (script: string, more: Partial<RequestBody<'exec'>> = {}): Promise<Record<string, unknown>> =>
    platform.ask('exec', { name: SANDBOX, cmd: 'sh', args: ['-c', script], ...more });
  const base64 = (text: string): string => Buffer.from(text).toString('base64');

  test('answers with both streams and the code, and keeps nothing', async () => {
    expect(await sh('echo out; echo err >&2; exit 7')).toEqual({
      output: base64('out\n'),
      stderr: base64('err\n'),
      code: 7,
    });
    expect(await sh('echo out; echo err >&2', { stderrToStdout: true })).toEqual({
      output: base64('out\nerr\n'),
      stderr: '',
      code: 0,
    });
    expect(keeper.stats()).toEqual({ running: 0, sessions: 0 });
  });

  test('passes the environment, and argv unparsed', async () => {
    const body = {
      name: SANDBOX,
      cmd: 'sh',
      args: ['-c', 'printf %s "$A|$1"', 'sh', '$B; *'],
      env: [['A', 'x y']] as const,
    };
    expect(await platform.ask('exec', body)).toMatchObject({ output: base64('x y|$B; *'), code: 0 });
  });

  test.each<[string, Partial<RequestBody<'exec'>>, Record<string, unknown>]>([
    ['kill -9 $$', {}, { output: '', stderr: '', code: 137, signal: 'SIGKILL' }],
    ['exit 124', { timeoutMs: 0 }, { output: '', stderr: '', code: 124 }],
    ['sleep 100', { timeoutMs: 50 }, { error: 'unavailable', detail: 'timeout', effect: 'done' }],
    ['yes', { maxOutputBytes: 1000 }, { error: 'truncated', detail: 'output_limit', effect: 'done' }],
    ['true', { dir: 'nowhere' }, { error: 'invalid', detail: 'no_such_directory', effect: 'none' }],
    ['true', { name: `${SANDBOX.slice(0, -1)}8` }, { error: 'not_found', effect: 'none' }],
  ])('%s %j', async (script, more, expected) => {
    expect(await sh(script, more)).toEqual(expected);
    expect(keeper.stats()).toEqual({ running: 0, sessions: 0 });
  });

  test('a program that is not there is a result', async () => {
    const result = await platform.ask('exec', { name: SANDBOX, cmd: 'no-such-program', args: [] });
    expect(result).toMatchObject({ code: 127, start_error: expect.any(String) });
  });

  test('brings every byte of large outputs, several at once', async () => {
    const all = await Promise.all([1, 2, 3, 4].map(() => sh('head -c 5000000 /dev/zero; exit 3')));
    for (const { output, code } of all) {
      expect(code).toBe(3);
      expect(Buffer.from(output as string, 'base64').equals(Buffer.alloc(5_000_000))).toBe(true);
    }
  });

  test('cancel ends it, children included, and answers when all are gone', async () => {
    const script = 'trap "" TERM; sleep 100 & setsid sleep 100 & wait';
    const request = platform.send('exec', { name: SANDBOX, cmd: 'bash', args: ['-c', script] });
    await keeperShows(() => keeper.stats().running === 1);
    expect(await platform.ask('cancel', { request })).toEqual({});
    expect(keeper.stats().running).toBe(0);
    await keeperShows(() => keeper.stats().sessions === 0);
    expect(await platform.ask('cancel', { request })).toEqual({});
  });

  test('ends with the socket', async () => {
    platform.send('exec', { name: SANDBOX, cmd: 'sleep', args: ['100'] });
    await keeperShows(() => keeper.stats().running === 1);
    const redialled = nextPlatform();
    platform.socket.terminate();
    await keeperShows(() => keeper.stats().sessions === 0);
    expect(keeper.stats()).toEqual({ running: 0, sessions: 0 });
    platform = await redialled;
  });
});

describe('spawn', () => {
  test('replies, then sends both streams from the beginning and the exit last', async () => {
    const id = await platform.spawn('printf out; printf err >&2; exit 9');
    expect(await platform.end(id)).toEqual({ event: 'exit', code: 9 });
    expect([platform.text(id), platform.text(id, 'stderr')]).toEqual(['out', 'err']);
    expect(platform.events(id).at(-1)?.event).toBe('exit');
    const reply = platform.frames.findIndex((frame) => frame.kind === 'reply' && frame.id === 2);
    expect(platform.frames.findIndex((frame) => frame.kind === 'event')).toBe(reply + 1);
  });

  test('every frame has at most 64 KiB and the right offset', async () => {
    const id = await platform.spawn('head -c 3000000 /dev/zero | tr "\\0" a; echo e >&2');
    await platform.end(id);
    let offset = 0;
    for (const { event, body } of platform.events(id)) {
      if (event !== 'stdout') continue;
      const { data, offset: at } = body as { data: Uint8Array; offset?: number };
      expect(at).toBe(offset);
      expect(data.length).toBeLessThanOrEqual(65_536);
      offset += data.length;
    }
    expect(offset).toBe(3_000_000);
  });

  test('stdin is written in the order of the requests, then closed', async () => {
    const name = SANDBOX;
    const sessionId = await platform.spawn('cat', { stdin: true });
    const lines = Array.from({ length: 500 }, (_, n) => `${n}\n`);
    for (const line of lines) platform.send('stdin', { name, sessionId, data: Buffer.from(line) });
    expect(await platform.ask('stdin_close', { name, sessionId })).toEqual({});
    expect(await platform.end(sessionId)).toEqual({ event: 'exit', code: 0 });
    expect(platform.text(sessionId)).toBe(lines.join(''));
    expect(await platform.ask('stdin', { name, sessionId, data: Buffer.from('x') })).toMatchObject({
      error: 'command_exited',
    });
    expect(await platform.ask('stdin_close', { name, sessionId })).toEqual({});
  });

  test('more than 256 KiB of stdin in one request are refused, and nothing of it is written', async () => {
    const sessionId = await platform.spawn('cat', { stdin: true });
    const stdin = { name: SANDBOX, sessionId };
    expect(await platform.ask('stdin', { ...stdin, data: new Uint8Array(256 * 1024 + 1) })).toEqual({
      error: 'invalid',
      detail: 'request_too_large',
      effect: 'none',
    });
    expect(await platform.ask('stdin', { ...stdin, data: Buffer.from('x') })).toEqual({});
    await platform.ask('stdin_close', stdin);
    await platform.end(sessionId);
    expect(platform.text(sessionId)).toBe('x');
  });

  test('refuses a terminal', async () => {
    const result = await platform.ask('spawn', { name: SANDBOX, cmd: 'true', args: [], tty: true });
    expect(result).toEqual({ error: 'not_supported', effect: 'none' });
  });

  test('says which limit ended it', async () => {
    const id = await platform.spawn('sleep 100', { timeoutMs: 50 });
    expect(await platform.end(id)).toEqual({
      event: 'exit',
      code: 143,
      signal: 'SIGTERM',
      stoppedBy: 'timeout',
      gone: true,
    });
  });
});

describe('attach and detach', () => {
  const name = SANDBOX;
  const opened = { detachable: true, stdin: true };

  async function attach(sessionId: string, more: Partial<RequestBody<'attach'>> = {}): Promise<[number, Reply]> {
    const id = platform.send('attach', { name, sessionId, ...more });
    return [id, await platform.reply(id)];
  }

  async function shown(sessionId: string, text: string, replayFor?: number): Promise<void> {
    await platform.until(() => (platform.text(sessionId, 'stdout', replayFor) === text ? true : undefined));
  }

  test('a finished session is replayed from byte zero, exit included, all of it tagged', async () => {
    const id = await platform.spawn('printf hello; printf err >&2; exit 4');
    await platform.end(id);
    const [request, reply] = await attach(id);
    expect(reply).toMatchObject({ ok: true, result: { session_id: id, from: { stdout: 0, stderr: 0 } } });
    expect(await platform.end(id, request)).toEqual({ event: 'exit', code: 4, replayFor: request });
    expect([platform.text(id, 'stdout', request), platform.text(id, 'stderr', request)]).toEqual(['hello', 'err']);
    expect(platform.events(id).filter(({ event }) => event === 'exit')).toHaveLength(1);
  });

  test('a second subscriber gets the past tagged, and the rest comes once for both', async () => {
    const id = await platform.spawn('echo past; read line; echo live', opened);
    await shown(id, 'past\n');
    const [request] = await attach(id);
    await shown(id, 'past\n', request);
    await platform.ask('stdin', { name, sessionId: id, data: Buffer.from('go\n') });
    expect(await platform.end(id)).toEqual({ event: 'exit', code: 0 });
    expect([platform.text(id), platform.text(id, 'stdout', request)]).toEqual(['past\nlive\n', 'past\n']);
  });

  test('after a detach nothing is sent, and an attach brings what was missed', async () => {
    const id = await platform.spawn('read a; echo one; read b; echo two', opened);
    expect(await platform.ask('detach', { name, sessionId: id })).toEqual({});
    await platform.ask('stdin', { name, sessionId: id, data: Buffer.from('\n') });
    const { output } = await platform.ask('exec', { name, cmd: 'echo', args: ['-n'] });
    expect([output, platform.events(id)]).toEqual(['', []]);
    const [request] = await attach(id);
    await platform.ask('stdin', { name, sessionId: id, data: Buffer.from('\n') });
    expect(await platform.end(id)).toEqual({ event: 'exit', code: 0 });
    expect(platform.text(id, 'stdout', request) + platform.text(id)).toBe('one\ntwo\n');
  });

  test('from offsets, from the end, and beyond it', async () => {
    const id = await platform.spawn('printf 0123456789; printf abc >&2; exit 1');
    await platform.end(id);
    const [middle, reply] = await attach(id, { from: { stdout: 4, stderr: 3 } });
    expect(reply).toMatchObject({ result: { from: { stdout: 4, stderr: 3 } } });
    await platform.end(id, middle);
    expect([platform.text(id, 'stdout', middle), platform.text(id, 'stderr', middle)]).toEqual(['456789', '']);
    const [last, at] = await attach(id, { from: 'now' });
    expect(at).toMatchObject({ result: { from: { stdout: 10, stderr: 3 } } });
    expect(await platform.end(id, last)).toMatchObject({ event: 'exit', code: 1 });
    expect(platform.events(id, last)).toHaveLength(1);
    expect((await attach(id, { from: { stdout: 11, stderr: 0 } }))[1]).toMatchObject({
      ok: false,
      refusal: { error: 'invalid', detail: 'offset_beyond_end', effect: 'none' },
    });
  });

  test.each<[string, string | undefined, string | undefined]>([
    ['another sandbox', `${SANDBOX.slice(0, -1)}8`, undefined],
    ['an unknown id', SANDBOX, 's-unknown'],
    ['an id with a path', SANDBOX, '../x'],
  ])('%s is not found by any request', async (_title, other = SANDBOX, wrongId) => {
    await platform.ask('create', { name: other });
    const id = wrongId ?? (await platform.spawn('read line', opened));
    for (const op of ['attach', 'stdin_close', 'detach'] as const) {
      expect([op, await platform.ask(op, { name: other, sessionId: id })]).toEqual([
        op,
        { error: 'not_found', effect: 'none' },
      ]);
    }
    const stdin = { name: other, sessionId: id, data: Buffer.from('x') };
    expect(await platform.ask('stdin', stdin)).toEqual({ error: 'not_found', effect: 'none' });
  });

  test('detach without a name finds the session, with id 0 there is no reply', async () => {
    const id = await platform.spawn('read line; echo more', opened);
    platform.socket.send(JSON.stringify({ id: 0, op: 'detach', session_id: id }));
    await platform.ask('stdin', { name, sessionId: id, data: Buffer.from('\n') });
    await keeperShows(() => keeper.stats().running === 0);
    await platform.ask('list', {});
    expect(platform.events(id)).toEqual([]);
    expect(platform.frames.filter((frame) => frame.kind === 'reply' && frame.id === 0)).toEqual([]);
    expect(await platform.ask('detach', { sessionId: 's-unknown' })).toEqual({ error: 'not_found', effect: 'none' });
  });

  test('a detach that follows an attach unanswered wins', async () => {
    const id = await platform.spawn('read line; echo more', opened);
    platform.send('attach', { name, sessionId: id });
    await platform.ask('detach', { name, sessionId: id });
    await platform.ask('stdin', { name, sessionId: id, data: Buffer.from('\n') });
    await keeperShows(() => keeper.stats().running === 0);
    await platform.ask('list', {});
    expect(platform.frames.filter(({ kind }) => kind === 'event')).toEqual([]);
  });

  test('what is not detachable is stopped when its readers leave, unless they hold it', async () => {
    const id = await platform.spawn('echo up; exec sleep 100');
    await shown(id, 'up\n');
    expect(await platform.ask('detach', { name, sessionId: id, hold: true })).toEqual({});
    expect(keeper.stats().running).toBe(1);
    const [request] = await attach(id, { from: { stdout: 2, stderr: 0 } });
    await shown(id, '\n', request);
    await platform.ask('detach', { name, sessionId: id });
    await keeperShows(() => keeper.stats().running === 0);
    const [again] = await attach(id);
    expect(await platform.end(id, again)).toMatchObject({ code: 143, signal: 'SIGTERM' });
  });

  test('lists detachable sessions that run', async () => {
    const id = await platform.spawn('read line', opened);
    await platform.spawn('read line', { stdin: true });
    const { sessions } = await platform.ask('list_sessions', { name });
    expect(sessions).toEqual([
      expect.objectContaining({ id, tty: false, command: 'sh -c read line', created_at: expect.any(String) }),
    ]);
  });
});

describe('a lost socket', () => {
  test('a new one begins with nothing attached; detachable sessions live on', async () => {
    const id = await platform.spawn('read a; echo one; read b', { detachable: true, stdin: true });
    platform.socket.terminate();
    platform = await nextPlatform();
    await platform.ask('stdin', { name: SANDBOX, sessionId: id, data: Buffer.from('\n') });
    expect(platform.events(id)).toEqual([]);
    expect(clock.expire(60_000)).toBe(0);
    const request = platform.send('attach', { name: SANDBOX, sessionId: id });
    await platform.until(() =>
      platform.text(id, 'stdout', request) + platform.text(id) === 'one\n' ? true : undefined,
    );
    expect(keeper.stats().running).toBe(1);
  });

  test('what is not detachable is stopped after 60 s', async () => {
    await platform.spawn('exec sleep 100');
    platform.socket.terminate();
    platform = await nextPlatform();
    expect(keeper.stats().running).toBe(1);
    expect(clock.expire(60_000)).toBe(1);
    await keeperShows(() => keeper.stats().running === 0);
  });

  test('unless somebody attached to it again', async () => {
    const id = await platform.spawn('exec sleep 100');
    platform.socket.terminate();
    platform = await nextPlatform();
    await platform.ask('attach', { name: SANDBOX, sessionId: id });
    expect(clock.expire(60_000)).toBe(0);
    expect(keeper.stats().running).toBe(1);
  });
});

describe('a daemon that stops', () => {
  test('says goodbye with 1001, stops what runs and leaves no session on the disk', async () => {
    await platform.spawn('exec sleep 100', { detachable: true });
    const closed = new Promise((resolve) => platform.socket.once('close', resolve));
    daemon.stop();
    expect([await closed, await running]).toEqual([1001, 0]);
    expect(keeper.stats().running).toBe(0);
    expect(readdirSync(join(root, '.runner'))).not.toContain('sessions');
  });
});
