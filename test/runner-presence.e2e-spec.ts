import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { SandboxHandle } from '#libs/contract';
import { runnerSandboxName } from '../src/runner/index.js';
import { collect, sha256 } from './support/collect.js';
import { DaemonProcess } from './support/daemon-process.js';
import { refusal, words } from './support/errors.js';
import { TestApp } from './support/nest-app.js';
import { allGone, appeared, sleepMarker } from './support/processes.js';
import { OTHER_RUNNER_ID, OTHER_RUNNER_TOKEN, RUNNER_ID, RUNNER_TOKEN } from './support/runners.js';
import { ScriptedDaemon } from './support/scripted-daemon.js';
import { TcpProxy } from './support/tcp-proxy.js';
import { settles, until } from './support/until.js';

const DISCONNECTED = { code: 'unavailable', detail: 'runner_disconnected', effect: 'unknown' };
const OFFLINE = { code: 'unavailable', detail: 'runner_offline', effect: 'none' };

let app: TestApp;

/** Shortened, so that silence is noticed within the patience of a test. */
const TIMES = { heartbeatIntervalMs: 100, pingIntervalMs: 400, silenceMs: 1_500, probeTimeoutMs: 700 };
/** What waits for a silence or for the end of a probe, waits longer than a test does. */
const PATIENT = { ...TIMES, silenceMs: 60_000, probeTimeoutMs: 60_000 };

beforeEach(async () => {
  app = await TestApp.start({ runners: TIMES });
});

afterEach(async () => {
  await app.close();
});

/** A scripted daemon that answers what a bystander asks. */
function dial(options: { instance?: string; url?: string; autoPong?: boolean } = {}): Promise<ScriptedDaemon> {
  return ScriptedDaemon.connect({ url: app.url, token: RUNNER_TOKEN, name: 'scripted', ...options });
}

describe('what a host sees', () => {
  test('of a real daemon that comes, stays and is ended: five calls in order', async () => {
    await using daemon = await DaemonProcess.launch({ url: app.url });
    await app.host.saw('heartbeat', 2);
    expect(app.host.calls.slice(0, 4)).toEqual(['register', 'presence online', 'heartbeat', 'heartbeat']);
    expect(await app.host.online()).toEqual([
      [
        RUNNER_ID,
        expect.objectContaining({ name: 'e2e', os: process.platform, arch: process.arch, root: daemon.root }),
      ],
    ]);
    daemon.signal('SIGTERM');
    expect(await daemon.end()).toEqual({ code: 0, signal: null });
    await app.host.saw('presence offline');
    expect(distinct(app.host.calls)).toEqual([
      'register',
      'presence online',
      'heartbeat',
      'unregister',
      'presence offline',
    ]);
    expect(await app.host.online()).toEqual([]);
  });

  test('of a daemon whose TCP connection is cut', async () => {
    const daemon = await dial();
    await app.host.saw('heartbeat');
    await daemon.close();
    await app.host.saw('presence offline');
    expect(distinct(app.host.calls)).toEqual([
      'register',
      'presence online',
      'heartbeat',
      'unregister',
      'presence offline',
    ]);
  });

  test('of a daemon that is swallowed by the network: offline within the bound', async () => {
    const proxy = await TcpProxy.listen(app.port);
    const daemon = await dial({ url: proxy.url });
    const handle = await startedHandle(daemon);
    const pending = refusal(app.sandboxes.exec(handle, 'x', []));
    await daemon.next('exec');
    proxy.blackHole();
    expect(await settles('the pending exec', pending, TIMES.silenceMs * 4)).toEqual(DISCONNECTED);
    await app.host.saw('presence offline');
    await proxy.close();
  });
});

describe('a real daemon that is killed in mid-stream', () => {
  test('callers get runner_disconnected, subscribers an error and no exit', async () => {
    await using daemon = await DaemonProcess.launch({ url: app.url });
    await app.online(RUNNER_ID);
    const handle = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
    const marker = sleepMarker();
    const command = await app.sandboxes.spawn(
      handle,
      'bash',
      ['-c', `while :; do echo tick; sleep 0.02; done; ${marker}`],
      {
        stdin: true,
      },
    );
    const seen = collect(command);
    const exec = refusal(app.sandboxes.exec(handle, 'sleep', [marker]));
    await appeared(marker, 2);
    const write = refusal(command.writeStdin(Buffer.alloc(4 * 1024 * 1024)));
    await daemon.kill();

    const end = await settles('the subscriber', seen, 5_000);
    expect(words(end.error)).toMatchObject({ code: 'unavailable', detail: 'runner_disconnected' });
    expect([end.exit, end.completed]).toEqual([undefined, false]);
    expect(end.stdout.toString()).toMatch(/^(tick\n)*$/);
    expect(await settles('the caller', exec, 5_000)).toEqual(DISCONNECTED);
    expect(await settles('the writer', write, 5_000)).toMatchObject({
      code: 'unavailable',
      detail: 'runner_disconnected',
    });
    expect(await settles('exit', refusal(command.exit), 5_000)).toMatchObject({ detail: 'runner_disconnected' });

    await app.offline(RUNNER_ID);
    expect(await refusal(app.sandboxes.get(handle))).toEqual(OFFLINE);
    expect(await refusal(app.sandboxes.destroy(handle))).toEqual(OFFLINE);
    expect(await app.sandboxes.listAllNames('runner')).toEqual([]);
  });

  test('its successor on the same root knows the sandbox, and says so of a session that it cannot know', async () => {
    await using first = await DaemonProcess.launch({ url: app.url });
    await app.online(RUNNER_ID);
    const handle = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
    const marker = sleepMarker();
    const command = await app.sandboxes.spawn(handle, 'sleep', [marker], { detachable: true });
    await appeared(marker);
    await first.kill();
    await app.offline(RUNNER_ID);

    await using second = await DaemonProcess.launch({ url: app.url, root: first.root });
    await app.online(RUNNER_ID);
    expect(second.pid).not.toBe(first.pid);
    expect((await app.sandboxes.get(handle)).status).toBe('running');
    const lost = await app.sandboxes
      .attach(handle, command.sessionId as string)
      .then((attached) => attached.drain())
      .then((exit) => exit, words);
    expect(lost).toEqual({ code: 'unavailable', detail: 'session_lost', effect: 'none' });
    await app.sandboxes.destroy(handle);
    await allGone(marker);
  });
});

describe('a second daemon under the same id', () => {
  test('gets 4409 while the first answers, and the first is not disturbed', async () => {
    await app.close();
    app = await TestApp.start({ runners: PATIENT });
    const first = await dial({ instance: randomUUID() });
    const handle = await startedHandle(first);
    const second = await dial({ instance: randomUUID() });
    expect(await settles('the second', second.closed)).toMatchObject({ code: 4409 });
    const call = app.sandboxes.exec(handle, 'x', []);
    first.ok(await first.next('exec'), { output: '', code: 5 });
    expect((await call).exitCode).toBe(5);
    expect(app.host.calls.filter((made) => made.startsWith('presence'))).toEqual(['presence online']);
    expect(app.host.count('unregister')).toBe(0);
    await first.close();
  });

  test('takes over when the first is stopped: 4409 for the first once it wakes, never an offline in between', async () => {
    // To start a process may take longer than the others here may be silent.
    const patient = await TestApp.start({ runners: { ...TIMES, silenceMs: 60_000 } });
    await using first = await DaemonProcess.launch({ url: patient.url });
    await patient.online(RUNNER_ID);
    first.signal('SIGSTOP');
    await using second = await DaemonProcess.launch({ url: patient.url, name: 'second' });
    await patient.host.saw('register', 2);
    await until('the second is the one that is online', async () =>
      (await patient.host.online()).some(([, meta]) => (meta as { name: string }).name === 'second'),
    );
    const handle = await patient.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
    expect((await patient.sandboxes.exec(handle, 'echo', ['second'])).text()).toBe('second\n');
    expect(patient.host.calls.filter((made) => made.startsWith('presence'))).not.toContain('presence offline');
    first.signal('SIGCONT');
    await settles(
      'the first notices',
      until('it logs', () => /4409|replaced|another|disconnected|closed/i.test(first.stderr)),
    );
    expect((await patient.sandboxes.exec(handle, 'echo', ['still'])).text()).toBe('still\n');
    expect(second.ended).toBeUndefined();
    await patient.close();
  });

  test('takes over when the network has swallowed the first, whose callers are told', async () => {
    const proxy = await TcpProxy.listen(app.port);
    const first = await dial({ url: proxy.url, instance: randomUUID() });
    const handle = await startedHandle(first);
    const pending = refusal(app.sandboxes.exec(handle, 'x', []));
    await first.next('exec');
    proxy.blackHole();
    const second = await dial({ instance: randomUUID() });
    await app.host.saw('register', 2);
    expect(await settles('the call to the first', pending, 5_000)).toEqual(DISCONNECTED);

    const call = app.sandboxes.exec(handle, 'x', []);
    const request = await second.next('exec');
    // The replaced connection goes for good only here, long after its successor was registered.
    await proxy.close();
    await until('one connection is left', () => app.gateway.stats().connections === 1);
    second.ok(request, { output: '', code: 6 });
    expect((await call).exitCode).toBe(6);
    expect(await app.isOnline(RUNNER_ID)).toBe(true);
    expect(app.host.calls.filter((made) => made.startsWith('presence'))).not.toContain('presence offline');
    await second.close();
    await app.host.saw('presence offline');
  });

  test('that is the same daemon, redialling, takes over from its own half-open socket without asking it', async () => {
    await app.close();
    app = await TestApp.start({ runners: PATIENT });
    const proxy = await TcpProxy.listen(app.port);
    const instance = randomUUID();
    const first = await dial({ url: proxy.url, instance });
    await app.online(RUNNER_ID);
    proxy.blackHole();
    const second = await dial({ instance });
    await app.host.saw('register', 2);
    await proxy.close();
    await first.closed;
    await until('one connection is left', () => app.gateway.stats().connections === 1);
    expect(await app.isOnline(RUNNER_ID)).toBe(true);
    expect(app.host.calls.filter((made) => made.startsWith('presence'))).not.toContain('presence offline');
    await second.close();
  });

  test('is nothing to a daemon of another runner', async () => {
    const [mine, other] = await Promise.all([
      dial(),
      ScriptedDaemon.connect({ url: app.url, token: OTHER_RUNNER_TOKEN, name: 'other' }),
    ]);
    await app.online(RUNNER_ID);
    await app.online(OTHER_RUNNER_ID);
    expect((await app.host.online()).map(([id]) => id).toSorted()).toEqual([RUNNER_ID, OTHER_RUNNER_ID].toSorted());
    await Promise.all([mine.close(), other.close()]);
  });
});

describe('who is let in', () => {
  test.each([
    ['no token', undefined, 401],
    ['a wrong token', 'token-of-nobody-at-all', 401],
    ['a token that only begins right', RUNNER_TOKEN.slice(0, -1), 401],
    ['a token with something behind it', `${RUNNER_TOKEN}x`, 401],
  ])('%s is refused before the upgrade', async (_, token, status) => {
    const refused = await ScriptedDaemon.refusal({ url: app.url, name: 'x', ...(token !== undefined && { token }) });
    expect(refused).toBe(status);
    expect(app.host.calls).toEqual([]);
    expect(app.gateway.stats()).toMatchObject({ connections: 0, refused: 1 });
  });

  test('a token in the URL is refused, so that nobody gets used to it', async () => {
    const refused = await ScriptedDaemon.refusal({
      url: app.url,
      name: 'x',
      token: RUNNER_TOKEN,
      query: { token: RUNNER_TOKEN },
    });
    expect(refused).toBe(400);
    expect(app.logs.join('\n')).not.toContain(RUNNER_TOKEN);
  });

  test('an unknown path is 404, and a sub-protocol that was offered is not taken', async () => {
    expect(await ScriptedDaemon.refusal({ url: app.url, name: 'x', token: RUNNER_TOKEN, path: '/elsewhere' })).toBe(
      404,
    );
    const socket = await ScriptedDaemon.failure({ url: app.url, name: 'x', token: RUNNER_TOKEN, protocols: ['v9'] });
    expect(socket).toBe('Server sent no subprotocol');
  });

  test('what follows the handshake at once is heard', async () => {
    const daemon = await dial();
    daemon.sendText('not json');
    expect((await settles('the close', daemon.closed)).code).toBe(1003);
  });

  test('a daemon with a wrong token ends with a message and exit code 3', async () => {
    await using daemon = await DaemonProcess.launch({ url: app.url, token: 'token-of-nobody-at-all' });
    expect(await daemon.end()).toEqual({ code: 3, signal: null });
    expect(daemon.stderr).toMatch(/token/);
    expect(daemon.stderr).not.toContain('token-of-nobody-at-all');
  });

  test('a second daemon on one root ends with a message and exit code 4', async () => {
    await using first = await DaemonProcess.launch({ url: app.url });
    await app.online(RUNNER_ID);
    await using second = await DaemonProcess.launch({ url: app.url, root: first.root });
    expect(await second.end()).toEqual({ code: 4, signal: null });
    expect(second.stderr).toContain(first.root);
  });
});

describe('a daemon that does not answer', () => {
  test('is runner_timeout to the one that waits, and its late reply does no harm', async () => {
    const impatient = await TestApp.start({ runners: { ...TIMES, requestTimeoutMs: 200 } });
    const daemon = await ScriptedDaemon.connect({ url: impatient.url, token: RUNNER_TOKEN, name: 'mute' });
    await impatient.online(RUNNER_ID);
    const handle = impatient.sandboxes.buildHandle('runner', runnerSandboxName(RUNNER_ID));
    const effects = { get: 'none', suspend: 'unknown', spawn: 'unknown' } as const;
    expect(await refusal(impatient.sandboxes.get(handle))).toEqual(timeoutOf(effects.get));
    const spawn = refusal(impatient.sandboxes.spawn(handle, 'x', []));
    const request = await daemon.next('spawn');
    expect(await spawn).toEqual(timeoutOf(effects.spawn));
    daemon.ok(request, { session_id: 'late' });
    expect(await daemon.next('detach')).toMatchObject({ session_id: 'late' });
    expect(await impatient.isOnline(RUNNER_ID)).toBe(true);
    await daemon.close();
    await impatient.close();
  });

  test('a spawn that was aborted is detached once its reply comes', async () => {
    const daemon = await dial();
    const handle = await startedHandle(daemon);
    const controller = new AbortController();
    const spawn = refusal(app.sandboxes.spawn(handle, 'x', [], { signal: controller.signal }));
    const request = await daemon.next('spawn');
    controller.abort();
    expect(await spawn).toEqual({ code: 'aborted', detail: undefined, effect: 'unknown' });
    daemon.ok(request, { session_id: 'unwanted' });
    expect(await daemon.next('detach')).toMatchObject({ session_id: 'unwanted' });
    await daemon.close();
  });
});

describe('a link that breaks', () => {
  let daemon: DaemonProcess;
  let proxy: TcpProxy;
  let handle: SandboxHandle;

  beforeEach(async () => {
    proxy = await TcpProxy.listen(app.port);
    daemon = await DaemonProcess.launch({ url: proxy.url });
    await app.online(RUNNER_ID);
    handle = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
  });

  afterEach(async () => {
    await daemon.dispose();
    await proxy.close();
  });

  test('ends the stream with an error; attach after the redial replays all once, then live, then the true exit', async () => {
    const script = 'for i in $(seq 1 50000); do echo "line $i"; done; read go; echo "after $go"; exit 5';
    const command = await app.sandboxes.spawn(handle, 'bash', ['-c', script], { detachable: true, stdin: true });
    const iterator = command[Symbol.asyncIterator]();
    await iterator.next();
    proxy.cut();
    const error = await (async () => {
      for (;;) if ((await iterator.next()).done) return 'an end without an error';
    })().catch(words);
    expect(error).toMatchObject({ code: 'unavailable', detail: 'runner_disconnected' });
    await app.offline(RUNNER_ID);
    await app.online(RUNNER_ID, 45_000);

    const sessions = await app.sandboxes.listSessions(handle);
    expect(sessions.map((session) => session.id)).toEqual([command.sessionId]);
    const again = await app.sandboxes.attach(handle, command.sessionId as string, { stdin: true });
    const seen = collect(again);
    await again.writeStdin('now\n');
    const end = await settles('the attached stream', seen);
    const expected = `${Array.from({ length: 50_000 }, (_, i) => `line ${i + 1}\n`).join('')}after now\n`;
    expect(sha256(end.stdout)).toBe(sha256(Buffer.from(expected)));
    expect(end.exit).toEqual({ exitCode: 5 });
  });

  test('again and again: each attach has the whole history once, and the last one the exit', async () => {
    const script = 'n=0; while read line; do n=$((n+1)); echo "$n $line"; done; exit 8';
    const command = await app.sandboxes.spawn(handle, 'bash', ['-c', script], { detachable: true, stdin: true });
    const id = command.sessionId as string;
    let history = '';
    for (const round of [1, 2]) {
      const joined = await app.sandboxes.attach(handle, id, { stdin: true });
      const seen = collect(joined);
      await joined.writeStdin(`round ${round}\n`);
      history += `${round} round ${round}\n`;
      await until('the line is in the journal', async () => (await peek(id, history.length)) === history);
      proxy.cut();
      const cut = await seen;
      expect(words(cut.error)).toMatchObject({ code: 'unavailable', detail: 'runner_disconnected' });
      expect(history.startsWith(cut.stdout.toString())).toBe(true);
      await app.offline(RUNNER_ID);
      await app.online(RUNNER_ID, 45_000);
    }
    const last = await app.sandboxes.attach(handle, id, { stdin: true });
    const seen = collect(last);
    await last.closeStdin();
    expect([(await seen).stdout.toString(), (await seen).exit]).toEqual([history, { exitCode: 8 }]);
  }, 120_000);

  /** The first `bytes` of a session's stdout. */
  async function peek(id: string, bytes: number): Promise<string> {
    const command = await app.sandboxes.attach(handle, id);
    let text = '';
    for await (const frame of command) {
      if (frame.type === 'stdout') text += Buffer.from(frame.data).toString();
      if (text.length >= bytes) break;
    }
    await command.stop();
    return text;
  }

  test('ends a pending exec on the machine too', async () => {
    const marker = sleepMarker();
    const exec = refusal(app.sandboxes.exec(handle, 'sleep', [marker]));
    await appeared(marker);
    proxy.cut();
    expect(await exec).toEqual(DISCONNECTED);
    await allGone(marker);
  });
});

test("Nest's own WsAdapter does as well", async () => {
  const stock = await TestApp.start({ stockWsAdapter: true });
  await using daemon = await DaemonProcess.launch({ url: stock.url });
  await stock.online(RUNNER_ID);
  const handle = await stock.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
  const command = await stock.sandboxes.spawn(handle, 'bash', ['-c', 'head -c 3000000 /dev/zero; exit 3']);
  const { stdout, exit } = await collect(command);
  expect([stdout.byteLength, exit]).toEqual([3_000_000, { exitCode: 3 }]);
  await stock.close();
  expect(daemon.ended).toBeUndefined();
});

describe('a platform that shuts down', () => {
  test('closes with 1001, and refuses those who dial meanwhile with 503', async () => {
    const draining = await TestApp.start({ runners: { ...TIMES, drainMs: 60_000 } });
    const { url } = draining;
    const daemon = await ScriptedDaemon.connect({ url, token: RUNNER_TOKEN, name: 'scripted' });
    await draining.online(RUNNER_ID);
    const handle = draining.sandboxes.buildHandle('runner', runnerSandboxName(RUNNER_ID));
    const pending = draining.sandboxes.exec(handle, 'x', []);
    const request = await daemon.next('exec');
    const closed = draining.close();
    await until('it drains', () => draining.gateway.stats().draining);
    expect(await refusal(draining.sandboxes.get(handle))).toEqual({
      code: 'unavailable',
      detail: 'draining',
      effect: 'none',
    });
    expect(await ScriptedDaemon.refusal({ url, token: OTHER_RUNNER_TOKEN, name: 'late' })).toBe(503);
    daemon.ok(request, { output: '', code: 5 });
    expect((await pending).exitCode).toBe(5);
    expect((await settles('the close', daemon.closed)).code).toBe(1001);
    await settles('the application', closed);
  });

  let daemon: DaemonProcess;
  let closing: TestApp;

  beforeAll(async () => {
    closing = await TestApp.start({ runners: { ...TIMES, drainMs: 200 } });
    daemon = await DaemonProcess.launch({ url: closing.url });
    await closing.online(RUNNER_ID);
  });

  afterAll(async () => {
    await daemon?.dispose();
  });

  test('gives pending calls an error within the drain time and leaves the daemon with its processes', async () => {
    const handle = await closing.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
    const marker = sleepMarker();
    const command = await closing.sandboxes.spawn(handle, 'sleep', [marker], { detachable: true });
    const seen = collect(command);
    const exec = refusal(closing.sandboxes.exec(handle, 'sleep', ['3600']));
    const [pid] = await appeared(marker);
    const closed = closing.close();
    expect(await settles('the exec', exec, 10_000)).toMatchObject({ code: 'unavailable' });
    expect(words((await settles('the stream', seen, 10_000)).error)).toMatchObject({ code: 'unavailable' });
    await settles('the application', closed, 10_000);
    expect(closing.host.calls.at(-1)).toBe('presence offline');
    expect(daemon.ended).toBeUndefined();
    expect(await appeared(marker)).toEqual([pid]);
  });
});

describe('a daemon that is asked to end', () => {
  test('ends what runs, the deaf and the stopped too, tells the platform, and leaves its root for the next', async () => {
    await using daemon = await DaemonProcess.launch({ url: app.url });
    await app.online(RUNNER_ID);
    const handle = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
    const marker = sleepMarker();
    const scripts = [
      `sleep ${marker}`,
      `trap '' TERM; while :; do sleep ${marker}; done`,
      `kill -STOP $$; sleep ${marker}`,
      `setsid sleep ${marker}`,
    ];
    const seen = [];
    for (const script of scripts) {
      seen.push(collect(await app.sandboxes.spawn(handle, 'bash', ['-c', script, marker], { detachable: true })));
    }
    await appeared(marker, scripts.length);
    daemon.signal('SIGTERM');
    expect(await daemon.end(20_000)).toEqual({ code: 0, signal: null });
    await allGone(marker, 1_000);
    await app.host.saw('presence offline');
    for (const end of await Promise.all(seen)) expect(end.completed || words(end.error) !== undefined).toBe(true);
    await using next = await DaemonProcess.launch({ url: app.url, root: daemon.root });
    await app.online(RUNNER_ID);
    expect((await app.sandboxes.get(handle)).status).toBe('running');
    expect(next.ended).toBeUndefined();
  });
});

/** What a caller gets whose request was not answered. */
function timeoutOf(effect: 'none' | 'unknown'): unknown {
  return { code: 'unavailable', detail: 'runner_timeout', effect };
}

/** `calls` without direct repeats. */
function distinct(calls: readonly string[]): string[] {
  return calls.filter((call, i) => call !== calls[i - 1]);
}

/** A sandbox on a scripted daemon, once that is registered. */
async function startedHandle(daemon: ScriptedDaemon): Promise<SandboxHandle> {
  await app.online(RUNNER_ID);
  const created = app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
  daemon.ok(await daemon.next('create'));
  return created;
}
