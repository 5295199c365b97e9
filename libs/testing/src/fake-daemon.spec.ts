import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocketServer } from 'ws';
import { SandboxError, type OutputFrame } from '#libs/contract';
import { RunnerConnection, bindSocket, type RequestBody, type RunnerLink, type SessionExit } from '#libs/protocol';
import { RUNNER_ID, RecordingRegistry, turns } from './connected-peer.js';
import { DialRefused } from './dial.js';
import { FakeDaemon, type FakeDaemonOptions } from './fake-daemon.js';
import { ManualClock } from './manual-clock.js';

const NAME = 'runner-00000000000040008000000000000001-00000001';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function setUp(options: FakeDaemonOptions = {}) {
  const daemon = new FakeDaemon({ instance: 'd-1', ...options });
  const registry = new RecordingRegistry();
  const link = daemon.connect({ runnerId: RUNNER_ID, registry });
  open.push(() => daemon.close());
  await link.request('create', { name: NAME });
  return { daemon, registry, link };
}

/** What a session delivers, and how it ends. */
function recording() {
  const printed = { stdout: '', stderr: '' };
  const offsets: number[] = [];
  let settle!: (end: Omit<SessionExit, 'type'> | SandboxError) => void;
  const end = new Promise<Omit<SessionExit, 'type'> | SandboxError>((resolve) => (settle = resolve));
  let onFrame = (_bytes: number): void => {};
  const sink = {
    frame(frame: OutputFrame | SessionExit): void {
      if (frame.type === 'exit') {
        const { type: _, ...exit } = frame;
        return settle(exit);
      }
      printed[frame.type] += Buffer.from(frame.data).toString();
      offsets.push(frame.offset);
      onFrame(frame.data.byteLength);
    },
    error: (error: SandboxError): void => settle(error),
  };
  return { printed, offsets, end, sink, onTake: (take: (bytes: number) => void) => (onFrame = take) };
}

async function play(link: RunnerLink, body: Partial<RequestBody<'spawn'>>) {
  const seen = recording();
  const session = await link.open('spawn', { name: NAME, cmd: 'sh', args: [], ...body }, seen.sink);
  return { ...seen, session };
}

async function join(link: RunnerLink, sessionId: string, body: Partial<RequestBody<'attach'>> = {}) {
  const seen = recording();
  const session = await link.open('attach', { name: NAME, sessionId, ...body }, seen.sink);
  return { ...seen, session };
}

const MAKES = [
  ['a daemon', 'd-1'],
  ['a daemon of another make', undefined],
] as const;

describe.each(MAKES)('%s', (_, instance) => {
  test('keeps sandboxes and files', async () => {
    const { daemon, link } = await setUp({ instance });
    await link.request('write_file', { name: NAME, path: 'dir/a', data: Buffer.from('content'), mode: 0o600 });
    expect(daemon.file(NAME, '~/dir/a')?.toString()).toBe('content');
    expect(await link.request('list', {})).toEqual({ names: [NAME] });
    expect(await link.request('get', { name: NAME })).toEqual({ status: 'running', path: '/home/sandbox' });
    await link.request('suspend', { name: NAME });
    expect(await link.request('get', { name: NAME })).toMatchObject({ status: 'suspended' });
    await link.request('resume', { name: NAME });
    await link.request('destroy', { name: NAME });
    await link.request('destroy', { name: NAME });
    await expect(link.request('get', { name: NAME })).rejects.toMatchObject({ code: 'not_found' });
    expect(daemon.names).toEqual([]);
  });

  test('plays a session, its stdin and its exit', async () => {
    const { link } = await setUp({ instance });
    const { session, printed, end, offsets } = await play(link, {
      args: ['out:ab', 'err:c', 'stay', 'exit:7'],
      stdin: true,
    });
    await session.write(Buffer.from('x'));
    await session.closeStdin();
    expect(await end).toEqual({ exitCode: 7 });
    expect(printed).toEqual({ stdout: 'abecho:x', stderr: 'c' });
    expect(offsets).toEqual([0, 0, 2]);
  });

  test('replays to those who join, while it runs and after', async () => {
    const { link } = await setUp({ instance });
    const first = await play(link, { args: ['out:abc', 'stay'], stdin: true, detachable: true });
    const { sessionId } = first.session;
    await first.session.write(Buffer.from('1'));
    await first.session.stop();
    const listed = await link.request('list_sessions', { name: NAME });
    expect(listed.sessions).toMatchObject([{ id: sessionId, command: 'sh out:abc stay', tty: false }]);
    const whole = await join(link, sessionId, { stdin: true });
    const part = await join(link, sessionId, { from: { stdout: 2, stderr: 0 } });
    await whole.session.write(Buffer.from('2'));
    await whole.session.closeStdin();
    expect([await whole.end, await part.end]).toEqual([{ exitCode: 0 }, { exitCode: 0 }]);
    expect([whole.printed.stdout, part.printed.stdout]).toEqual(['abcecho:1echo:2', 'cecho:1echo:2']);
    const late = await join(link, sessionId);
    expect(await late.end).toEqual({ exitCode: 0 });
    expect(late.printed.stdout).toBe('abcecho:1echo:2');
    expect(await link.request('list_sessions', { name: NAME })).toEqual({ sessions: [] });
  });

  test('drops a session without an exit', async () => {
    const { link } = await setUp({ instance });
    const { end, printed } = await play(link, { args: ['out:a', 'drop'] });
    expect(await end).toMatchObject({ code: 'unavailable', detail: 'closed_before_exit' });
    expect(printed.stdout).toBe('a');
    const exec = link.request('exec', { name: NAME, cmd: 'drop', args: [] });
    await expect(exec).rejects.toMatchObject({ code: 'unavailable', detail: 'closed_before_exit', effect: 'unknown' });
  });

  test('ends sessions with their sandbox, and tells before it answers', async () => {
    const { daemon, link } = await setUp({ instance });
    const data = 'abcdefgh'.repeat(128 * 1024);
    // All of it is written before any of it is sent.
    daemon.replyDelayMs = 20;
    const { session, end, onTake, printed } = await play(link, { args: [`out:${data}`, 'stay'], detachable: true });
    onTake((bytes) => session.taken(bytes));
    let ended = false;
    void end.then(() => (ended = true));
    daemon.replyDelayMs = 0;
    await link.request('destroy', { name: NAME });
    expect(ended).toBe(true);
    expect(await end).toMatchObject({ exitCode: 143 });
    expect(printed.stdout === data).toBe(true);
  });

  test('stops what is not detachable with its last listener, and keeps the rest over a cut', async () => {
    const { daemon, registry, link } = await setUp({ instance });
    const gone = await play(link, { args: ['stay'] });
    await gone.session.stop();
    const kept = await play(link, { args: ['out:a', 'stay'], detachable: true, stdin: true });
    daemon.cut();
    expect(await kept.end).toMatchObject({ code: 'unavailable', detail: 'runner_disconnected' });
    await link.settled;
    expect(daemon.online).toBe(false);
    const again = daemon.connect({ runnerId: RUNNER_ID, registry });
    const stopped = await join(again, gone.session.sessionId);
    expect(await stopped.end).toMatchObject({ exitCode: 143 });
    const back = await join(again, kept.session.sessionId, { stdin: true });
    await back.session.closeStdin();
    expect(await back.end).toEqual({ exitCode: 0 });
    expect(back.printed.stdout).toBe('a');
  });

  test('serves one socket at a time: the newest', async () => {
    const { daemon, registry, link } = await setUp({ instance });
    const other = daemon.connect({ runnerId: RUNNER_ID, registry });
    expect(await link.ended).toMatchObject({ code: 1006 });
    expect(await other.request('list', {})).toEqual({ names: [NAME] });
    expect(daemon.online).toBe(true);
  });

  test('sends every byte of a large output to a slow listener and a fast one', async () => {
    const data = 'abcdefgh'.repeat(160 * 1024);
    const { link } = await setUp({ instance });
    const slow = await play(link, { args: ['stay', `out:${data}`], stdin: true, detachable: true });
    const fast = await join(link, slow.session.sessionId, { stdin: true });
    slow.onTake((bytes) => setImmediate(() => slow.session.taken(bytes)));
    fast.onTake((bytes) => fast.session.taken(bytes));
    await fast.session.closeStdin();
    expect([await slow.end, await fast.end]).toEqual([{ exitCode: 0 }, { exitCode: 0 }]);
    expect(slow.printed.stdout === data && fast.printed.stdout === data).toBe(true);
  });
});

describe('a session that is read later', () => {
  const small = { journalBytes: 8, frameBytes: 4 };
  const words = { name: NAME, cmd: 'out:aaaabbbbccccdddd', args: ['exit:5'], detachable: true };

  test('waits at the cap of its journal until it is attached', async () => {
    const { daemon, link } = await setUp({ limits: small });
    daemon.replyDelayMs = 20;
    const { session, end, printed } = await play(link, words);
    expect(await end).toEqual({ exitCode: 5 });
    expect(printed.stdout).toBe('aaaabbbbccccdddd');
    session.unsubscribe();
  });

  test('waits there while a detach says hold, and gives up nothing', async () => {
    const { daemon, link } = await setUp({ limits: small });
    const { sessionId } = await link.request('spawn', { ...words, cmd: 'stay', args: [words.cmd], stdin: true });
    await link.request('detach', { name: NAME, sessionId, hold: true });
    await link.request('stdin_close', { name: NAME, sessionId });
    await turns(20);
    const held = await join(link, sessionId);
    expect(await held.end).toEqual({ exitCode: 0 });
    expect(held.printed.stdout).toBe('aaaabbbbccccdddd');
    const again = link.open('attach', { name: NAME, sessionId }, recording().sink);
    await expect(again).rejects.toMatchObject({
      code: 'truncated',
      detail: 'replay_evicted',
      cause: { oldest: { stdout: 8, stderr: 0 } },
    });
    expect(daemon.requests.filter(({ op }) => op === 'attach')).toHaveLength(2);
  });
});

describe('an exec', () => {
  const exec = (link: RunnerLink, words: string[], more: Partial<RequestBody<'exec'>> = {}) =>
    link.request('exec', { name: NAME, cmd: 'sh', args: words, ...more });

  test('answers with what was measured', async () => {
    const { link } = await setUp();
    expect(await exec(link, ['out:a', 'err:b', 'exit:3'])).toEqual({
      output: Buffer.from('a'),
      stderr: Buffer.from('b'),
      code: 3,
    });
    const both = await exec(link, ['out:a', 'err:b'], { stderrToStdout: true });
    expect(Buffer.from(both.output).toString()).toBe('ab');
    expect(await exec(link, ['bad'])).toMatchObject({ code: 127, startError: expect.stringContaining('word 1') });
  });

  test('of another make knows exit codes only', async () => {
    const clock = new ManualClock();
    const { link } = await setUp({ instance: undefined, clock });
    expect(await exec(link, ['out:a', 'err:b'])).toEqual({ output: Buffer.from('a'), code: 0 });
    const late = exec(link, ['out:a', 'stay'], { timeoutMs: 1_000 });
    await turns(20);
    clock.advance(1_000);
    expect(await late).toEqual({ output: Buffer.from('a'), code: 137 });
  });

  test('is stopped at its deadline and at its limit, by a refusal', async () => {
    const clock = new ManualClock();
    const { link } = await setUp({ clock });
    const late = exec(link, ['stay'], { timeoutMs: 1_000 });
    await turns(20);
    clock.advance(1_000);
    await expect(late).rejects.toMatchObject({ code: 'unavailable', detail: 'timeout', effect: 'done' });
    const long = exec(link, ['out:abcd', 'stay'], { maxOutputBytes: 3 });
    await expect(long).rejects.toMatchObject({ code: 'truncated', detail: 'output_limit', effect: 'done' });
  });

  test('is killed when nobody could take its answer', async () => {
    const clock = new ManualClock();
    const { daemon, link } = await setUp({ clock });
    const cut = exec(link, ['stay'], { timeoutMs: 1_000 }).catch((error: unknown) => error);
    await daemon.seen('exec');
    daemon.cut();
    expect(await cut).toMatchObject({ detail: 'runner_disconnected', effect: 'unknown' });
    await link.settled;
    expect(clock.pending).toBe(0);
  });

  test('as a session is stopped the same way, and its exit says so', async () => {
    const clock = new ManualClock();
    const { link } = await setUp({ clock });
    const { end } = await play(link, { args: ['stay'], timeoutMs: 1_000 });
    clock.advance(1_000);
    expect(await end).toEqual({ exitCode: 143, signal: 'SIGTERM', stoppedBy: 'timeout', gone: true });
  });
});

describe('what a test arranges', () => {
  test('requests are seen with their bodies, also before they come', async () => {
    const { daemon, link } = await setUp();
    const second = daemon.seen('get', 2);
    await link.request('get', { name: NAME });
    await link.request('get', { name: NAME });
    expect(await second).toBe(daemon.requests[2]);
    expect(daemon.requests.map(({ op, body }) => [op, body])).toEqual([
      ['create', { name: NAME }],
      ['get', { name: NAME }],
      ['get', { name: NAME }],
    ]);
  });

  test('answers can be replaced', async () => {
    const { daemon, link } = await setUp();
    daemon.onRequest = ({ op }) =>
      op === 'get'
        ? Promise.reject(new SandboxError('unavailable', { detail: 'disk_full', effect: 'none' }))
        : undefined;
    await expect(link.request('get', { name: NAME })).rejects.toMatchObject({
      code: 'unavailable',
      detail: 'disk_full',
    });
    expect(await link.request('list', {})).toEqual({ names: [NAME] });
  });

  test('replies can be late', async () => {
    const clock = new ManualClock();
    const { daemon, link } = await setUp({ clock });
    daemon.replyDelayMs = 31_000;
    const created = link.request('create', { name: 'other' }).catch((error: unknown) => error);
    await daemon.seen('create', 2);
    await clock.pass(30_000);
    expect(await created).toMatchObject({ code: 'unavailable', detail: 'runner_timeout' });
    expect(daemon.names).toEqual([NAME, 'other']);
  });

  test('frames can be wrong', async () => {
    const { daemon, link } = await setUp();
    daemon.send('no JSON');
    expect(await link.ended).toMatchObject({ code: 1003 });
  });

  test('a silent daemon is found dead by its silence', async () => {
    const clock = new ManualClock();
    const { daemon, link } = await setUp({ clock });
    daemon.silence();
    const probe = link.probe(5_000);
    await clock.pass(6_000);
    expect(await probe).toBe(false);
    expect(daemon.online).toBe(true);
    await clock.pass(60_000);
    expect(await link.ended).toMatchObject({ code: 1006 });
  });

  test('closing ends everything, twice, with a socket or without', async () => {
    const { daemon, link } = await setUp();
    const { end } = await play(link, { args: ['stay'], detachable: true });
    await daemon.close();
    await daemon.close();
    expect(await end).toBeDefined();
    await link.settled;
    expect(link.stats()).toMatchObject({ pending: 0, sessions: 0, timers: 0 });
    await new FakeDaemon().close();
  });
});

describe('over a real socket', () => {
  async function platform(accept: (request: IncomingMessage) => boolean) {
    const server: Server = createServer();
    const sockets = new WebSocketServer({ server, verifyClient: ({ req }: { req: IncomingMessage }) => accept(req) });
    const connected = once(sockets, 'connection');
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(async () => {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`, connected };
  }

  test('it dials with its token and what it says of itself', async () => {
    const dialled: (string | undefined)[] = [];
    const { url, connected } = await platform(({ url: path, headers }) => {
      dialled.push(path, headers.authorization);
      return true;
    });
    const daemon = new FakeDaemon({ name: 'my box', instance: 'd-1', meta: { os: 'linux' } });
    open.push(() => daemon.close());
    const link = connected.then(([ws, request]) => {
      let connection!: RunnerConnection;
      bindSocket(ws, (request as IncomingMessage).socket, (socket) => {
        connection = new RunnerConnection(socket, {
          runnerId: RUNNER_ID,
          name: 'my box',
          instance: 'd-1',
          meta: {},
          registry: new RecordingRegistry(),
        });
        return connection;
      });
      return connection;
    });
    await daemon.dial({ url, token: 'secret' });
    expect(dialled).toEqual(['/base/api/runners/ws?os=linux&name=my+box&instance=d-1', 'Bearer secret']);
    const connection = await link;
    await connection.request('create', { name: NAME });
    const { end, printed } = await play(connection, { args: ['out:a', 'exit:3'] });
    expect(await end).toEqual({ exitCode: 3 });
    expect(printed.stdout).toBe('a');
    daemon.silence();
    daemon.cut();
    expect(await connection.ended).toMatchObject({ code: 1006 });
  });

  test('a refused dial tells the status, one without an answer that it had none', async () => {
    const { url } = await platform(() => false);
    const refused = new FakeDaemon().dial({ url, token: 'x' });
    await expect(refused).rejects.toMatchObject({ code: 'denied', cause: new DialRefused(401) });
    await expect(refused).rejects.toMatchObject({ cause: { status: 401 } });
    const unanswered = new FakeDaemon().dial({ url: 'http://127.0.0.1:1' });
    await expect(unanswered).rejects.toMatchObject({ code: 'unavailable', effect: 'none' });
  });
});

describe('programs', () => {
  const env: [string, string][] = [['A', '1']];
  const programs: FakeDaemonOptions['programs'] = {
    show: async (process) => {
      await process.write('stdout', `${process.args.join('|')} ${process.env['A']} `);
      await process.write('stderr', process.dir);
      return 4;
    },
    stubborn: async (process) => {
      process.onSignal('SIGTERM', () => {});
      return new Promise(() => {});
    },
  };

  test('are told arguments, environment and directory, over exec and over spawn', async () => {
    const { link } = await setUp({ programs });
    const body = { cmd: 'show', args: ['a b', 'c'], env, dir: '/tmp' };
    const { output, stderr, code } = await link.request('exec', { name: NAME, ...body });
    expect([Buffer.from(output).toString(), Buffer.from(stderr ?? []).toString(), code]).toEqual([
      'a b|c 1 ',
      '/tmp',
      4,
    ]);
    const apart = await play(link, body);
    expect([await apart.end, apart.printed]).toEqual([{ exitCode: 4 }, { stdout: 'a b|c 1 ', stderr: '/tmp' }]);
    const merged = await play(link, { ...body, stderrToStdout: true });
    expect([await merged.end, merged.printed]).toEqual([{ exitCode: 4 }, { stdout: 'a b|c 1 /tmp', stderr: '' }]);
  });

  test('that take TERM are killed 2 s after the deadline, and 5 s after a destroy has begun', async () => {
    const clock = new ManualClock();
    const { link } = await setUp({ programs, clock });
    const late = play(link, { cmd: 'stubborn', timeoutMs: 10 });
    const other = await play(link, { cmd: 'stubborn' });
    clock.advance(10);
    await turns();
    clock.advance(2_000);
    expect(await (await late).end).toMatchObject({ exitCode: 137, stoppedBy: 'timeout', gone: true });
    const destroying = link.request('destroy', { name: NAME });
    await turns();
    clock.advance(5_000);
    await destroying;
    expect(await other.end).toMatchObject({ exitCode: 137, signal: 'SIGKILL' });
  });
});
