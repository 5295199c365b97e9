import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, readdir, readlink, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { SandboxHandle } from '#libs/contract';
import { runnerSandboxName } from '../../src/runner/index.js';
import { digest } from '../support/collect.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { distFile } from '../support/dist.js';
import { refusal, words } from '../support/errors.js';
import { gate } from '../support/gate.js';
import { TestApp } from '../support/nest-app.js';
import { allGone, appeared, processesWith, sleepMarker } from '../support/processes.js';
import { RUNNER_ID, RUNNER_TOKEN } from '../support/runners.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { tempDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

/** Ends everything in the namespace together with `unshare`. */
const UNSHARE = ['--pid', '--fork', '--mount-proc', '--kill-child'];
const canUnshare = (): boolean => spawnSync('unshare', [...UNSHARE, 'true']).status === 0;

const onLinuxOnly = process.platform === 'linux' ? describe : describe.skip;

let app: TestApp;

beforeEach(async () => {
  app = await TestApp.start({ runners: { pingIntervalMs: 400, silenceMs: 1_500, probeTimeoutMs: 700 } });
});

afterEach(async () => {
  await app.close();
});

async function createSandbox(): Promise<SandboxHandle> {
  await app.online(RUNNER_ID);
  return app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
}

/** A token in a file that only its owner can read. */
async function tokenFile(directory: string, token: string): Promise<string> {
  const path = join(directory, 'token');
  await writeFile(path, token, { mode: 0o600 });
  await chmod(path, 0o600);
  return path;
}

onLinuxOnly('on Linux', () => {
  test('bug 30: of a token in a file, commands find nothing in their environment, their parent or the process table', async () => {
    const directory = await tempDir('token');
    const file = await tokenFile(directory.path, RUNNER_TOKEN);
    await using daemon = await DaemonProcess.launch({
      url: app.url,
      token: '',
      env: { SANDBOX_RUNNER_TOKEN_FILE: file },
    });
    const handle = await createSandbox();
    const script = 'env; tr "\\0" "\\n" < /proc/$PPID/environ; tr "\\0" " " < /proc/$PPID/cmdline; ps -efww';
    const { output, exitCode } = await app.sandboxes.exec(handle, 'bash', ['-c', script]);
    expect(exitCode).toBe(0);
    expect(Buffer.from(output).includes(daemon.root)).toBe(true);
    expect(Buffer.from(output).includes(RUNNER_TOKEN)).toBe(false);
    await directory.remove();
  });
});

test('bug 46: a daemon whose token is refused ends at once, says so once, and leaves the token where it is', async () => {
  const directory = await tempDir('token');
  const file = await tokenFile(directory.path, 'token-that-was-revoked');
  await using daemon = await DaemonProcess.launch({
    url: app.url,
    token: '',
    env: { SANDBOX_RUNNER_TOKEN_FILE: file },
  });
  expect(await daemon.end()).toEqual({ code: 3, signal: null });
  expect(daemon.stderr.split('\n').filter((line) => line.includes(' error '))).toHaveLength(1);
  expect(await readFile(file, 'utf8')).toBe('token-that-was-revoked');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(app.gateway.stats().refused).toBe(1);
  await directory.remove();
});

onLinuxOnly('on Linux', () => {
  test('bug 50: after a daemon was killed its successor ends and lists none of its sessions, and destroy leaves no process', async () => {
    await using first = await DaemonProcess.launch({ url: app.url });
    const handle = await createSandbox();
    const home = await app.sandboxes.hostPath(handle, '/home/sprite');
    const marker = sleepMarker();
    const commands = await Promise.all(
      [1, 2, 3].map(() => app.sandboxes.spawn(handle, 'sleep', [marker], { detachable: true })),
    );
    await appeared(marker, 3);
    await first.kill();
    await app.offline(RUNNER_ID);

    await using second = await DaemonProcess.launch({ url: app.url, root: first.root });
    await app.online(RUNNER_ID);
    expect(second.ended).toBeUndefined();
    expect(await processesWith(marker)).toEqual([]);
    expect((await app.sandboxes.get(handle)).status).toBe('running');
    expect(await app.sandboxes.listSessions(handle)).toEqual([]);
    for (const { sessionId } of commands) {
      const attached = app.sandboxes.attach(handle, sessionId as string).then((command) => command.drain());
      expect(await attached.catch(words)).toMatchObject({ code: 'unavailable', detail: 'session_lost' });
    }
    const fresh = await app.sandboxes.spawn(handle, 'true', []);
    expect(commands.map(({ sessionId }) => sessionId)).not.toContain(fresh.sessionId);
    await app.sandboxes.destroy(handle);
    expect(await processesWith(marker)).toEqual([]);
    expect(await processesIn(home)).toEqual([]);
  });
});

test('bug 52: of two daemons started at once on one root one serves; its death frees the root, whatever lives on', async () => {
  const root = await tempDir('root');
  const daemons = await Promise.all([1, 2].map(() => DaemonProcess.launch({ url: app.url, root: root.path })));
  const handle = await createSandbox();
  await until('one has ended', () => daemons.some((daemon) => daemon.ended));
  const [loser, winner] = daemons[0]?.ended ? daemons : daemons.toReversed();
  expect([loser?.ended, winner?.ended]).toEqual([{ code: 4, signal: null }, undefined]);
  expect(loser?.stderr).toContain(root.path);

  const marker = sleepMarker();
  await app.sandboxes.spawn(handle, 'setsid', ['sleep', marker], { detachable: true });
  await appeared(marker);
  await winner?.kill();
  await app.offline(RUNNER_ID);
  await using next = await DaemonProcess.launch({ url: app.url, root: root.path });
  await app.online(RUNNER_ID);
  expect(next.ended).toBeUndefined();
  await app.sandboxes.destroy(handle);
  await allGone(marker);
  for (const daemon of daemons) await daemon.dispose();
  await next.dispose();
  await root.remove();
});

test('bug 84: neither output that nobody takes nor a dead link keeps a daemon from ending', async () => {
  const proxy = await TcpProxy.listen(app.port);
  await using daemon = await DaemonProcess.launch({ url: proxy.url });
  const handle = await createSandbox();
  const marker = sleepMarker();
  const command = await app.sandboxes.spawn(handle, 'bash', ['-c', `head -c 200000000 /dev/zero; ${marker}`], {
    detachable: true,
  });
  const taken = gate();
  const stuck = digest({ forEach: (sink) => command.forEach((frame) => taken.opened.then(() => sink(frame))) });
  await until('its reader is full', () => app.gateway.stats().queuedBytes >= 4 * 1024 * 1024);
  proxy.blackHole();
  daemon.signal('SIGTERM');
  expect(await daemon.end(15_000)).toEqual({ code: 0, signal: null });
  await allGone(marker, 1_000);
  expect(await readdir(join(daemon.root, '.runner'))).not.toContain('sessions');
  taken.open();
  expect(await refusal(stuck)).toMatchObject({ code: 'unavailable', detail: 'runner_disconnected' });
  await proxy.close();
});

(canUnshare() ? describe : describe.skip)('in a PID namespace', () => {
  // A daemon that starts a hundred commands on a busy machine may be silent for longer than the others here.
  beforeEach(async () => {
    await app.close();
    app = await TestApp.start();
  });

  test('bug 86: as process 1 it asks for an init, and behind one no zombie stays', async () => {
    await using alone = await launchInPidNamespace([]);
    await until('it warns', () => alone.stderr.includes('behind an init'));
    await alone.end();

    await using behind = await launchInPidNamespace(['sh', '-c', '"$@" & wait', 'sh']);
    const handle = await createSandbox();
    const orphan = ['-c', '(sleep 0.02 &) ; exit 0'];
    await Promise.all(Array.from({ length: 100 }, () => app.sandboxes.exec(handle, 'sh', orphan)));
    await until('no process is a zombie', async () => {
      const { output } = await app.sandboxes.exec(handle, 'ps', ['-eo', 'stat=']);
      return !Buffer.from(output).toString().includes('Z');
    });
    expect(behind.stderr).not.toContain('behind an init');
  });
});

interface Namespaced extends AsyncDisposable {
  readonly stderr: string;
  end(): Promise<void>;
}

/** The daemon in a PID namespace of its own, whose process 1 is `init` or, without one, itself. */
async function launchInPidNamespace(init: readonly string[]): Promise<Namespaced> {
  const root = await tempDir('root');
  const program = [...init, process.execPath, distFile('apps/runner/src/main.js')];
  const child = spawn('unshare', [...UNSHARE, ...program], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: root.path,
      SANDBOX_RUNNER_URL: app.url,
      SANDBOX_RUNNER_TOKEN: RUNNER_TOKEN,
      SANDBOX_RUNNER_ROOT: root.path,
    },
  });
  const closed = once(child, 'close');
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const end = async (): Promise<void> => {
    child.kill('SIGKILL');
    await closed;
    await app.offline(RUNNER_ID);
    await root.remove();
  };
  return {
    get stderr() {
      return stderr;
    },
    end,
    [Symbol.asyncDispose]: end,
  };
}

/** The processes whose working directory lies in `directory`. */
async function processesIn(directory: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const links = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
  return pids.filter((_, i) => links[i] === directory || links[i]?.startsWith(`${directory}/`));
}
