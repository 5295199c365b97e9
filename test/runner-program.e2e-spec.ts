import { execFile } from 'node:child_process';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DaemonProcess } from './support/daemon-process.js';
import { distFile } from './support/dist.js';
import { allGone, appeared, sleepMarker } from './support/processes.js';
import { ScriptedPlatform, type ScriptedPeer } from './support/scripted-platform.js';
import { tempDir } from './support/temp-dir.js';
import { until } from './support/until.js';

const SANDBOX = 'runner-0123456789abcdef0123456789abcdef-01234567';
const TOKEN = 'tok-4b1d9c';

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program to its end. */
function run(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env }, timeout: 20_000 };
    execFile(process.execPath, [distFile('apps/runner/src/main.js'), ...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
  });
}

describe('the program, without a platform', () => {
  test('--help goes to stdout and needs nothing', async () => {
    const { code, stdout, stderr } = await run(['--help']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^sandbox-runner \d+\.\d+\.\d+\n[\s\S]+Usage: sandbox-runner --url URL/);
  });

  test('--version is one line', async () => {
    expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
  });

  test.each<[string[], string]>([
    [[], 'sandbox-runner: no platform: give --url URL, or set SANDBOX_RUNNER_URL\n'],
    [['--nonsense'], 'sandbox-runner: unknown option --nonsense; see sandbox-runner --help\n'],
    [['--url', 'ftp://h'], 'sandbox-runner: the URL of the platform must be an http:// or https:// URL\n'],
  ])('wrong usage is one line and exit code 2: %j', async (args, stderr) => {
    expect(await run(args)).toEqual({ code: 2, stdout: '', stderr });
  });

  test('a token among the arguments is refused and not repeated', async () => {
    const { code, stderr } = await run(['--token', TOKEN]);
    expect(code).toBe(2);
    expect(stderr).toContain('use --token-file');
    expect(stderr).not.toContain(TOKEN);
  });

  test('a root that cannot be made is exit code 1', async () => {
    const directory = await tempDir('no-root');
    const { path } = directory;
    await writeFile(join(path, 'file'), '');
    const args = ['--url', 'http://127.0.0.1:9', '--root', join(path, 'file', 'root')];
    const { code, stderr } = await run(args, { SANDBOX_RUNNER_TOKEN: TOKEN });
    expect(code).toBe(1);
    expect(stderr).toContain(`cannot use the root ${join(path, 'file', 'root')}: a part of its path is no directory`);
    await directory.remove();
  });
});

describe('the program, with a platform', () => {
  let platform: ScriptedPlatform;
  let daemon: DaemonProcess;

  beforeEach(async () => {
    platform = await ScriptedPlatform.listen();
  });

  afterEach(async () => {
    await daemon.dispose();
    await platform.close();
  });

  async function launch(env: Record<string, string> = {}): Promise<ScriptedPeer> {
    const peer = platform.peer('program');
    daemon = await DaemonProcess.launch({ url: platform.url, token: TOKEN, name: 'program', logLevel: 'debug', env });
    const connected = await peer;
    await connected.ask('create', { name: SANDBOX });
    return connected;
  }

  /** A process that only KILL ends; resolves when it runs. */
  async function stubborn(peer: ScriptedPeer): Promise<string> {
    const marker = sleepMarker();
    const script = `trap "" TERM; echo up; while :; do sleep ${marker}; done`;
    const { result } = await peer.ask('spawn', { name: SANDBOX, cmd: 'sh', args: ['-c', script], detachable: true });
    const id = result?.['session_id'] as string;
    await until('the trap is set', () => peer.output(id, 'stdout').toString() === 'up\n');
    await appeared(marker);
    return marker;
  }

  test('introduces itself, with the token in a header only', async () => {
    const peer = await launch();
    const url = new URL(peer.request.url ?? '', 'http://h');
    expect(peer.request.headers.authorization).toBe(`Bearer ${TOKEN}`);
    expect(url.pathname).toBe('/api/runners/ws');
    expect([...url.searchParams.keys()]).toEqual(['name', 'hostname', 'os', 'arch', 'version', 'root', 'instance']);
    expect(url.searchParams.get('root')).toBe(daemon.root);
    expect(url.searchParams.get('instance')).toMatch(/^[0-9a-f]{32}$/);
    expect(url.href).not.toContain(TOKEN);
  });

  test('its commands do not see the token, and the log holds nothing of them', async () => {
    const peer = await launch();
    const script = 'env; echo out-7f3a; echo err-7f3a >&2';
    const env = [['SECRET', 'val-7f3a']];
    const { result } = await peer.ask('exec', { name: SANDBOX, cmd: 'sh', args: ['-c', script, 'arg-7f3a'], env });
    const output = Buffer.from(result?.['output'] as string, 'base64').toString();
    expect(output).toContain('SECRET=val-7f3a');
    expect(output).not.toContain(TOKEN);
    expect(output).not.toContain('SANDBOX_RUNNER_');
    expect(daemon.stderr).toContain('connected');
    expect(daemon.stderr).not.toContain('7f3a');
    expect(daemon.stderr).not.toContain(TOKEN);
  });

  test.each([401, 403, 404, 400])('a refusal with %i ends it with exit code 3', async (status) => {
    platform.refuse = status;
    daemon = await DaemonProcess.launch({ url: platform.url, token: TOKEN });
    expect(await daemon.end()).toEqual({ code: 3, signal: null });
    expect(daemon.stderr).toContain(`(${status})`);
    expect(daemon.stderr).not.toContain(TOKEN);
  });

  test.each([409, 302, 503])('a refusal with %i is not the end', async (status) => {
    platform.refuse = status;
    daemon = await DaemonProcess.launch({ url: platform.url, token: TOKEN });
    const waits = new RegExp(`${status}.* retry_in_ms=\\d+\\n`);
    await until('it waits to dial again', () => waits.test(daemon.stderr));
    daemon.signal('SIGTERM');
    expect(await daemon.end(5_000)).toEqual({ code: 0, signal: null });
  });

  test('a runner that was deleted ends with exit code 3, and so do its processes', async () => {
    const peer = await launch();
    const marker = await stubborn(peer);
    peer.socket.close(4404);
    expect(await daemon.end()).toEqual({ code: 3, signal: null });
    expect(daemon.stderr).toContain('has deleted this runner');
    await allGone(marker);
  });

  test('a second daemon on the same root is refused with exit code 4, and names the first', async () => {
    await launch();
    const args = ['--url', platform.url, '--root', daemon.root];
    const second = await run(args, { SANDBOX_RUNNER_TOKEN: TOKEN });
    expect(second.code).toBe(4);
    expect(second.stderr).toContain(`another daemon (pid ${daemon.pid}) holds the root ${daemon.root}`);
  });

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s says goodbye, kills what withstands TERM, exits 0',
    async (signal) => {
      const peer = await launch();
      const marker = await stubborn(peer);
      daemon.signal(signal);
      expect(await peer.closed).toEqual({ code: 1001, reason: 'the daemon stops' });
      expect(await daemon.end()).toEqual({ code: 0, signal: null });
      await allGone(marker);
    },
  );

  test('a second signal kills at once and exits 1', async () => {
    const peer = await launch();
    const marker = await stubborn(peer);
    daemon.signal('SIGINT');
    await peer.closed;
    const before = performance.now();
    daemon.signal('SIGINT');
    expect(await daemon.end()).toEqual({ code: 1, signal: null });
    expect(performance.now() - before).toBeLessThan(2_500);
    await allGone(marker);
  });

  test('a signal ends it while the platform cannot be reached', async () => {
    daemon = await DaemonProcess.launch({ url: 'http://127.0.0.1:9', token: TOKEN });
    await until('it waits to dial again', () => /ECONNREFUSED retry_in_ms=\d+\n/.test(daemon.stderr));
    daemon.signal('SIGTERM');
    expect(await daemon.end(5_000)).toEqual({ code: 0, signal: null });
  });

  test('a PATH that holds nothing is for commands, and does not hinder the daemon', async () => {
    const peer = await launch({ PATH: '/nonexistent' });
    const by = async (cmd: string) => (await peer.ask('exec', { name: SANDBOX, cmd, args: ['-c', 'exit 3'] })).result;
    expect(await by('sh')).toMatchObject({ code: 127, start_error: 'sh: not found' });
    expect(await by('/bin/sh')).toMatchObject({ code: 3 });
  });

  test('a root that cannot be left clean is one line and exit code 1', async () => {
    await launch();
    const lock = join(daemon.root, '.runner', 'lock.1');
    await rm(lock);
    await mkdir(lock);
    daemon.signal('SIGTERM');
    expect(await daemon.end()).toEqual({ code: 1, signal: null });
    const lines = daemon.stderr.trimEnd().split('\n');
    expect(lines.at(-1)).toMatch(/ error the root could not be left clean: EISDIR root=\S+$/);
    expect(lines.filter((line) => !/^\d{4}-/.test(line))).toEqual([]);
  });

  test('takes the token from a file, and warns when others can read it', async () => {
    const directory = await tempDir('token');
    const { path } = directory;
    const file = join(path, 'token');
    await writeFile(file, `${TOKEN}\n`);
    await chmod(file, 0o644);
    const peer = await launch({ SANDBOX_RUNNER_TOKEN: '', SANDBOX_RUNNER_TOKEN_FILE: file });
    expect(peer.request.headers.authorization).toBe(`Bearer ${TOKEN}`);
    expect(daemon.stderr).toContain('others may read the token file');
    await directory.remove();
  });
});
