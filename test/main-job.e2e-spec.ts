import { randomBytes } from 'node:crypto';
import { mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ExecOptions, SandboxHandle } from '#libs/contract';
import { runnerSandboxName } from '../src/runner/index.js';
import { collect, digest, sha256 } from './support/collect.js';
import { DaemonProcess } from './support/daemon-process.js';
import { refusal, words } from './support/errors.js';
import { TestApp } from './support/nest-app.js';
import { allGone, appeared, sleepMarker, zombiesOf } from './support/processes.js';
import { RUNNER_ID, RUNNER_TOKEN } from './support/runners.js';
import { tempDir } from './support/temp-dir.js';
import { settles, until } from './support/until.js';

const MiB = 1024 * 1024;

let app: TestApp;
let daemon: DaemonProcess;
let handle: SandboxHandle;
/** The sandbox's directory on this machine. */
let home: string;

beforeAll(async () => {
  app = await TestApp.start();
  daemon = await DaemonProcess.launch({ url: app.url, logLevel: 'debug' });
  await app.online(RUNNER_ID);
  handle = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
  home = await app.sandboxes.hostPath(handle, '/home/sprite');
});

afterAll(async () => {
  await daemon?.dispose();
  await app?.close();
});

/** `bash -c` in the sandbox. */
function sh(script: string, options?: ExecOptions) {
  return app.sandboxes.exec(handle, 'bash', ['-c', script], options);
}

async function spawnSh(script: string, options = {}) {
  return app.sandboxes.spawn(handle, 'bash', ['-c', script], options);
}

describe('the main job', () => {
  test('a command runs on a real machine and its output comes back', async () => {
    const name = runnerSandboxName(RUNNER_ID);
    const fresh = await app.sandboxes.create('runner', name);
    expect(fresh).toEqual({ provider: 'runner', name });
    expect(await app.sandboxes.create('runner', name)).toEqual(fresh);
    expect((await app.sandboxes.get(fresh)).status).toBe('running');
    expect(await app.sandboxes.listAllNames('runner')).toContain(name);

    const uname = await app.sandboxes.exec(fresh, 'uname', ['-s']);
    expect({
      ...uname,
      output: uname.text(),
      text: undefined,
      stderr: Buffer.from(uname.stderr ?? []).toString(),
    }).toEqual({
      exitCode: 0,
      output: process.platform === 'darwin' ? 'Darwin\n' : 'Linux\n',
      stderr: '',
      text: undefined,
    });

    const seen = await collect(await app.sandboxes.spawn(fresh, 'echo', ['ok']));
    expect(seen.frames).toEqual([
      { type: 'stdout', data: expect.anything(), offset: 0 },
      { type: 'exit', exitCode: 0 },
    ]);
    expect(seen.stdout.toString()).toBe('ok\n');
    expect(seen.completed).toBe(true);

    await app.sandboxes.destroy(fresh);
    expect(await refusal(app.sandboxes.get(fresh))).toEqual({ code: 'not_found', detail: undefined, effect: 'none' });
    expect(await app.sandboxes.listAllNames('runner')).not.toContain(name);
    await app.sandboxes.destroy(fresh);
  });

  test('suspend parks with the disk kept, resume wakes', async () => {
    const parked = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
    await app.sandboxes.writeFile(parked, 'kept.txt', 'still here');
    const command = await app.sandboxes.spawn(parked, 'sleep', ['3600'], { detachable: true });
    const seen = collect(command);
    await app.sandboxes.suspend(parked);
    expect((await seen).exit).toEqual({ exitCode: 143, signal: 'SIGTERM' });
    expect((await app.sandboxes.get(parked)).status).toBe('suspended');
    const awake = await app.sandboxes.resume(parked);
    expect((await app.sandboxes.get(awake)).status).toBe('running');
    expect((await app.sandboxes.exec(awake, 'cat', ['kept.txt'])).text()).toBe('still here');
    await app.sandboxes.destroy(awake);
  });
});

describe('bytes', () => {
  test('1 MB of noise through stdout and stderr, by spawn', async () => {
    const noise = { out: randomBytes(MiB), err: randomBytes(MiB) };
    await writeFile(join(home, 'out.bin'), noise.out);
    await writeFile(join(home, 'err.bin'), noise.err);
    const seen = await digest(await spawnSh('cat out.bin & cat err.bin >&2; wait'));
    expect(seen).toEqual({
      exit: { exitCode: 0 },
      stdout: { bytes: MiB, sha256: sha256(noise.out) },
      stderr: { bytes: MiB, sha256: sha256(noise.err) },
    });
  });

  test('1 MB of noise through stdout and stderr, by exec', async () => {
    const result = await sh('cat err.bin >&2; cat out.bin');
    expect(sha256(result.output)).toBe(sha256(await readFile(join(home, 'out.bin'))));
    expect(sha256(result.stderr ?? Buffer.of())).toBe(sha256(await readFile(join(home, 'err.bin'))));
  });

  test('writeFile carries 8 MiB of noise, and refuses more than one request holds', async () => {
    const noise = randomBytes(8 * MiB);
    await app.sandboxes.writeFile(handle, 'noise.bin', noise);
    expect(sha256(await readFile(join(home, 'noise.bin')))).toBe(sha256(noise));
    expect(await refusal(app.sandboxes.writeFile(handle, 'noise.bin', Buffer.alloc(8 * MiB + 1)))).toEqual({
      code: 'invalid',
      detail: 'request_too_large',
      effect: 'none',
    });
    expect(sha256(await readFile(join(home, 'noise.bin')))).toBe(sha256(noise));
  });

  test.each([
    ['invalid UTF-8', 'ff fe c3 28 a0 a1 f0 28 8c bc 00 80'],
    ['NUL bytes', '00 00 61 00'],
    ['CR LF and no newline at the end', '61 0d 0a 62'],
  ])('%s survives on both streams', async (_, hex) => {
    const data = Buffer.from(hex.replaceAll(' ', ''), 'hex');
    const escaped = [...data].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
    const script = `printf '${escaped}'; printf '${escaped}' >&2`;
    const result = await sh(script);
    expect([Buffer.from(result.output), Buffer.from(result.stderr ?? [])]).toEqual([data, data]);
    const seen = await collect(await spawnSh(script));
    expect([seen.stdout, seen.stderr]).toEqual([data, data]);
  });

  test('a character that is split over three frames arrives as it is', async () => {
    const command = await spawnSh(`printf '\\xe2'; read a; printf '\\x82'; read b; printf '\\xac'`, { stdin: true });
    const frames: Buffer[] = [];
    let bytes = 0;
    const exit = await command.forEach(async (frame) => {
      frames.push(Buffer.from(frame.data));
      bytes += frame.data.byteLength;
      if (bytes < 3) await command.writeStdin('\n');
    });
    expect(frames).toEqual([Buffer.of(0xe2), Buffer.of(0x82), Buffer.of(0xac)]);
    expect(exit).toEqual({ exitCode: 0 });
  });

  test('one line of 5 MB without an end', async () => {
    const command = await spawnSh(`head -c 5000000 /dev/zero | tr '\\0' x; read a; echo; echo done`, { stdin: true });
    let text = '';
    const exit = await command.forEach(async (frame) => {
      text += Buffer.from(frame.data).toString('latin1');
      if (text.length === 5_000_000) await command.writeStdin('\n');
    });
    expect(text === `${'x'.repeat(5_000_000)}\ndone\n`).toBe(true);
    expect(exit).toEqual({ exitCode: 0 });
  });

  test('stderrToStdout keeps the order in which the process wrote', async () => {
    const result = await sh('for i in 1 2 3; do echo out$i; echo err$i >&2; done', { stderrToStdout: true });
    expect(result.text()).toBe('out1\nerr1\nout2\nerr2\nout3\nerr3\n');
  });

  test('the exit frame is the last, after everything was printed', async () => {
    const seen = await collect(await spawnSh(`head -c 300000 /dev/zero; exit 3`));
    expect(seen.stdout.byteLength).toBe(300_000);
    expect(seen.frames.at(-1)).toEqual({ type: 'exit', exitCode: 3 });
    expect(seen.frames.filter((frame) => frame.type === 'exit')).toHaveLength(1);
  });
});

describe('stdin', () => {
  test.each([['cat'], ['sort']])('5 MB through %s, then EOF', async (program) => {
    const lines = Array.from({ length: 500_000 }, (_, i) => `${String((i * 7_919) % 1_000_003).padStart(9, '0')}\n`);
    const input = Buffer.from(lines.join(''));
    const command = await app.sandboxes.spawn(handle, program, [], { stdin: true, env: { LC_ALL: 'C' } });
    const seen = digest(command);
    for (let at = 0; at < input.byteLength; at += 100_000) await command.writeStdin(input.subarray(at, at + 100_000));
    await command.closeStdin();
    const expected = program === 'cat' ? input : Buffer.from(lines.toSorted().join(''));
    expect((await seen).stdout).toEqual({ bytes: input.byteLength, sha256: sha256(expected) });
    expect((await seen).exit).toEqual({ exitCode: 0 });
  });

  test('exec takes stdin whole', async () => {
    const input = randomBytes(700_000);
    const result = await app.sandboxes.exec(handle, 'cat', [], { stdin: input });
    expect(sha256(result.output)).toBe(sha256(input));
    expect(result.exitCode).toBe(0);
  });

  test('1 000 numbered writes that nobody waits for keep their order, and EOF does not overtake them', async () => {
    const command = await app.sandboxes.spawn(handle, 'cat', [], { stdin: true });
    const seen = collect(command);
    const pieces = Array.from({ length: 1_000 }, (_, i) =>
      i % 100 === 50 ? `${i}:${'x'.repeat(300_000)}\n` : `${i}\n`,
    );
    await Promise.all([...pieces.map((piece) => command.writeStdin(piece)), command.closeStdin()]);
    expect(sha256((await seen).stdout)).toBe(sha256(Buffer.from(pieces.join(''))));
  });

  test('without stdin a reader gets EOF at once', async () => {
    expect((await sh('cat; echo end')).text()).toBe('end\n');
    const seen = await collect(await spawnSh('cat; echo end'));
    expect([seen.stdout.toString(), seen.exit]).toEqual(['end\n', { exitCode: 0 }]);
  });

  test('what can no longer be written is refused by name', async () => {
    const closed = await app.sandboxes.spawn(handle, 'cat', [], { stdin: true });
    const closing = closed.closeStdin();
    expect(await refusal(closed.writeStdin('x'))).toEqual({ code: 'invalid', detail: 'stdin_closed', effect: 'none' });
    await closing;
    expect(await closed.drain()).toEqual({ exitCode: 0 });
    await closed.closeStdin();

    const none = await spawnSh('until [ -e asked ]; do sleep 0.02; done; read x; exit 3');
    expect(await refusal(none.writeStdin('x'))).toEqual({ code: 'invalid', detail: 'stdin_not_open', effect: 'none' });
    await app.sandboxes.writeFile(handle, 'asked', '');
    expect(await none.drain()).toEqual({ exitCode: 3 });

    const ended = await app.sandboxes.spawn(handle, 'true', [], { stdin: true });
    expect(await ended.drain()).toEqual({ exitCode: 0 });
    expect(await refusal(ended.writeStdin('x'))).toMatchObject({ code: 'command_exited' });
    await ended.closeStdin();

    const deaf = await spawnSh('exec 0<&-; echo shut; sleep 3600', { stdin: true, detachable: true });
    await deaf[Symbol.asyncIterator]().next();
    expect(await refusal(deaf.writeStdin(randomBytes(MiB)))).toMatchObject({ code: 'write_failed' });
    await deaf.stop();
    expect((await sh('echo alive')).text()).toBe('alive\n');
  });

  test('a process that never reads delays the writer and nobody else; destroy settles the write', async () => {
    const name = runnerSandboxName(RUNNER_ID);
    const other = await app.sandboxes.create('runner', name);
    const command = await app.sandboxes.spawn(other, 'sleep', ['3600'], { stdin: true });
    const exit = command.drain();
    const write = refusal(command.writeStdin(randomBytes(8 * MiB)));
    expect((await settles('an exec beside a stuck writer', sh('echo free'))).text()).toBe('free\n');
    await app.sandboxes.destroy(other);
    expect(await settles('the stuck write', write)).toMatchObject({ code: 'command_exited' });
    expect(await exit).toEqual({ exitCode: 143, signal: 'SIGTERM' });
  });
});

describe('how it ended', () => {
  test.each([
    ['exit 0', { exitCode: 0 }],
    ['exit 7', { exitCode: 7 }],
    ['kill -TERM $$', { exitCode: 143, signal: 'SIGTERM' }],
    ['kill -KILL $$', { exitCode: 137, signal: 'SIGKILL' }],
    ['ulimit -c 0; kill -SEGV $$', { exitCode: 139, signal: 'SIGSEGV' }],
    ['kill -INT $$', { exitCode: 130, signal: 'SIGINT' }],
    ['exit 137', { exitCode: 137 }],
  ])('%s', async (script, exit) => {
    const { exitCode, signal } = await sh(script);
    expect({ exitCode, ...(signal && { signal }) }).toEqual(exit);
    const command = await spawnSh(script);
    expect(await command.drain()).toEqual(exit);
    expect(await command.exit).toEqual(exit);
  });

  test.each([
    ['no-such-program', 127],
    ['./absent', 127],
    ['./plain', 126],
    ['./directory', 126],
    ['./no-interpreter', 127],
  ])('%s cannot be started: %i with the reason', async (program, exitCode) => {
    await writeFile(join(home, 'plain'), 'not executable', { mode: 0o644 });
    await writeFile(join(home, 'no-interpreter'), '#!/no/such/interpreter\n', { mode: 0o755 });
    await mkdir(join(home, 'directory'), { recursive: true });
    const expected = { exitCode, startError: expect.stringMatching(/./) };
    const result = await app.sandboxes.exec(handle, program, []);
    expect({ exitCode: result.exitCode, startError: result.startError }).toEqual(expected);
    expect(result.output.byteLength).toBe(0);
    const seen = await collect(await app.sandboxes.spawn(handle, program, []));
    expect(seen.frames).toEqual([{ type: 'exit', ...expected }]);
  });

  test('a background process does not hold up the answer', async () => {
    const marker = sleepMarker();
    const script = `sleep ${marker} & echo hi`;
    expect((await settles('exec', sh(script), 5_000)).text()).toBe('hi\n');
    const seen = await settles('spawn', collect(await spawnSh(script)), 5_000);
    expect([seen.stdout.toString(), seen.exit]).toEqual(['hi\n', { exitCode: 0 }]);
    for (const pid of await appeared(marker, 2)) process.kill(pid, 'SIGKILL');
    await allGone(marker);
  });

  test('arguments arrive as they were given', async () => {
    const args = ['', ' ', 'a b', '*', '$HOME', `'"\\`, 'ü€', '-n', '/home/spriteful/x', 's#/home/sprite#Q#'];
    const result = await app.sandboxes.exec(handle, 'printf', ['%s\\0', ...args]);
    expect(result.text().split('\0').slice(0, -1)).toEqual(args);
  });
});

describe('environment and directory', () => {
  test('variables of any name reach the process, and only it', async () => {
    const env = Object.assign(Object.create(null) as Record<string, string>, {
      PLAIN: 'a=b c',
      EMPTY: '',
      MULTI: 'line 1\nline 2',
      ['__proto__']: 'proto',
      constructor: 'built',
      toString: 'text',
    });
    env['__proto__'] = 'proto';
    const result = await app.sandboxes.exec(handle, 'env', ['-0'], { env });
    const seen = new Map(
      result
        .text()
        .split('\0')
        .filter((line) => line !== '')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    expect(Object.keys(env).map((name) => [name, seen.get(name)])).toEqual(Object.entries(env));
    expect(seen.get('HOME')).toBe(home);
    expect((await sh('env')).text()).not.toContain('PLAIN');
  });

  test('the sandbox knows neither the token nor the settings of the daemon', async () => {
    const result = await sh('env; cat /proc/$PPID/cmdline 2>/dev/null | tr "\\0" " "; ps -o command= -p $PPID');
    expect(result.text()).not.toContain(RUNNER_TOKEN);
    expect(result.text()).not.toContain('SANDBOX_RUNNER');
  });

  test('dir is relative to the sandbox, and a missing one is named before anything runs', async () => {
    await mkdir(join(home, 'sub dir'), { recursive: true });
    const dirs = ['sub dir', '/home/sprite/sub dir', '~/sub dir'];
    for (const dir of dirs) expect((await sh('pwd', { dir })).text()).toBe(`${join(home, 'sub dir')}\n`);
    const missing = { code: 'invalid', detail: 'no_such_directory', effect: 'none' };
    for (const dir of ['nope', 'plain', '/home/sprite/nope']) {
      await writeFile(join(home, 'plain'), '');
      expect(await refusal(sh('touch ~/ran', { dir }))).toEqual(missing);
      expect(await refusal(spawnSh('touch ~/ran', { dir }))).toEqual(missing);
    }
    expect(await readdir(home)).not.toContain('ran');
  });
});

describe('bad arguments', () => {
  const NUL = 'a\0b';
  const argument = { code: 'invalid', detail: 'argument', effect: 'none' };

  test.each<[string, () => Promise<unknown>]>([
    ['a NUL in the command', () => app.sandboxes.exec(handle, NUL, [])],
    ['a NUL in an argument', () => app.sandboxes.exec(handle, 'touch', ['ran', NUL])],
    ['a NUL in a value of env', () => app.sandboxes.exec(handle, 'touch', ['ran'], { env: { A: NUL } })],
    ['a NUL in a name of env', () => app.sandboxes.exec(handle, 'touch', ['ran'], { env: { [NUL]: '1' } })],
    ['an empty name in env', () => app.sandboxes.exec(handle, 'touch', ['ran'], { env: { '': '1' } })],
    ['a = in a name of env', () => app.sandboxes.exec(handle, 'touch', ['ran'], { env: { 'A=B': '1' } })],
    ['a NUL in dir', () => app.sandboxes.exec(handle, 'touch', ['ran'], { dir: NUL })],
    ['an empty command', () => app.sandboxes.exec(handle, '', [])],
    ['a NUL in the argument of a spawn', () => app.sandboxes.spawn(handle, 'touch', ['ran', NUL])],
    ['a NUL in a path', () => app.sandboxes.writeFile(handle, NUL, 'x')],
    ['an empty path', () => app.sandboxes.writeFile(handle, '', 'x')],
    ['a mode beyond 0o777', () => app.sandboxes.writeFile(handle, 'ran', 'x', { mode: 0o4755 })],
    ['a negative mode', () => app.sandboxes.writeFile(handle, 'ran', 'x', { mode: -1 })],
    ['a timeout of 0', () => app.sandboxes.exec(handle, 'touch', ['ran'], { timeoutMs: 0 })],
    ['a timeout that is no number', () => app.sandboxes.exec(handle, 'touch', ['ran'], { timeoutMs: Number.NaN })],
    ['an empty session id', () => app.sandboxes.attach(handle, '')],
  ])('%s is invalid, and nothing ran', async (_, call) => {
    expect(await refusal(call())).toEqual(argument);
    expect(await readdir(home)).not.toContain('ran');
  });

  test.each([
    'runner-1',
    'x',
    'RUNNER-0c9b3a2e4d5f60718293a4b5c6d7e8f9-01234567',
    'runner-0c9b3a2e4d5f60718293a4b5c6d7e8f9-01234567\0',
    '../../etc',
    '__proto__',
  ])('%j is not the name of a sandbox on a runner', async (name) => {
    const expected = {
      code: 'invalid',
      detail: expect.stringMatching(/argument|not_a_runner_sandbox_name/),
      effect: 'none',
    };
    expect(await refusal(app.sandboxes.create('runner', name))).toEqual(expected);
  });

  test.each(['nowhere', '__proto__', 'constructor', ''])('%j is not a provider', async (provider) => {
    expect(await refusal(app.sandboxes.create(provider, 'x'))).toEqual({
      code: 'invalid',
      detail: 'unknown_provider',
      effect: 'none',
    });
  });

  test('an argument of 200 KB is refused by name, by exec and by spawn', async () => {
    const expected = { code: 'invalid', detail: 'argument_list_too_long', effect: 'none' };
    const long = 'x'.repeat(200_000);
    expect(await refusal(app.sandboxes.exec(handle, 'true', [long]))).toEqual(expected);
    expect(await refusal(app.sandboxes.spawn(handle, 'true', [long]))).toEqual(expected);
    const env = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`BIG_${i}`, 'x'.repeat(100_000)]));
    expect(await refusal(app.sandboxes.exec(handle, 'true', [], { env }))).toEqual(expected);
    expect((await sh('echo next')).text()).toBe('next\n');
  });
});

describe('deadlines, limits and aborts', () => {
  test('at timeoutMs the whole group goes, and does nothing later', async () => {
    const marker = sleepMarker();
    const started = performance.now();
    const script = `(trap '' TERM; sleep ${marker}; touch late) & sleep ${marker}; touch late`;
    expect(await refusal(sh(script, { timeoutMs: 300 }))).toEqual({
      code: 'unavailable',
      detail: 'timeout',
      effect: 'done',
    });
    expect(performance.now() - started).toBeLessThan(300 + 5_000);
    await allGone(marker, 1_000);
    expect(await readdir(home)).not.toContain('late');
  });

  test('more than maxOutputBytes is truncated / output_limit, never a cut result', async () => {
    const exact = await sh('head -c 100000 /dev/zero', { maxOutputBytes: 100_000 });
    expect(exact.output.byteLength).toBe(100_000);
    const expected = { code: 'truncated', detail: 'output_limit', effect: 'done' };
    expect(await refusal(sh('head -c 100001 /dev/zero', { maxOutputBytes: 100_000 }))).toMatchObject({
      code: 'truncated',
      detail: 'output_limit',
    });
    const marker = sleepMarker();
    expect(await refusal(sh(`yes & sleep ${marker}`, { maxOutputBytes: 100_000 }))).toEqual(expected);
    expect(await refusal(sh(`yes >&2 & sleep ${marker}`))).toEqual(expected);
    await allGone(marker, 1_000);
    expect((await sh('head -c 20000000 /dev/zero', { maxOutputBytes: 24 * MiB })).output.byteLength).toBe(20_000_000);
  });

  test('aborted before: nothing ran', async () => {
    const signal = AbortSignal.abort('why');
    for (const call of [
      () => sh('touch ran', { signal }),
      () => spawnSh('touch ran', { signal }),
      () => app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID), { signal }),
      () => app.sandboxes.writeFile(handle, 'ran', 'x', { signal }),
      () => app.sandboxes.attach(handle, 'x', { signal }),
    ]) {
      const error = await Promise.resolve(call()).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(words(error)).toEqual({ code: 'aborted', detail: undefined, effect: 'none' });
      expect((error as Error).cause).toBe('why');
    }
    expect(await readdir(home)).not.toContain('ran');
  });

  test.each([
    ['in one request', {}],
    ['with stdin', { stdin: 'x' }],
  ])('aborted meanwhile, %s: the call ends at once, its effect unknown, and the command goes', async (_case, more) => {
    const marker = sleepMarker();
    const controller = new AbortController();
    const call = refusal(sh(`setsid sleep ${marker} & sleep ${marker}`, { ...more, signal: controller.signal }));
    await appeared(marker, 2);
    controller.abort(new Error('enough'));
    expect(await settles('the aborted call', call, 1_000)).toEqual({
      code: 'aborted',
      detail: undefined,
      effect: 'unknown',
    });
    await allGone(marker);
    expect((await sh('echo next')).text()).toBe('next\n');
  });

  test('a call of destroy ends what runs, execs included', async () => {
    const marker = sleepMarker();
    const doomed = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
    const command = await app.sandboxes.spawn(doomed, 'bash', ['-c', `setsid sleep ${marker} & sleep ${marker}`], {
      detachable: true,
    });
    const exec = app.sandboxes.exec(doomed, 'sleep', [marker]).then((result) => result.exitCode, words);
    const exit = command.drain();
    await appeared(marker, 3);
    await app.sandboxes.destroy(doomed);
    expect((await exit).exitCode).toBe(143);
    expect(await exec).toBe(143);
    await allGone(marker, 1_000);
    expect(await refusal(app.sandboxes.exec(doomed, 'true', []))).toEqual({
      code: 'not_found',
      detail: undefined,
      effect: 'none',
    });
  });
});

describe('what is left', () => {
  test('200 commands with background children leave no zombie behind', async () => {
    await Promise.all(Array.from({ length: 200 }, () => sh('(sleep 0.01 &) ; (sleep 0.02 &) ; exit 0')));
    await until('no process is a zombie of the daemon', async () => (await zombiesOf(daemon.pid)).length === 0);
    expect(await zombiesOf(daemon.pid)).toEqual([]);
  });

  test('destroy wins over those who write, and nobody brings the sandbox back', async () => {
    const name = runnerSandboxName(RUNNER_ID);
    const doomed = await app.sandboxes.create('runner', name);
    const marker = sleepMarker();
    const scripts = [
      `i=0; while :; do i=$((i+1)); echo x > file-$i; done; ${marker}`,
      `setsid bash -c 'i=0; while :; do i=$((i+1)); mkdir -p d-$i/e; done; ${marker}'`,
      `mkdir closed; touch closed/x; chmod 500 closed; sleep ${marker}`,
    ];
    const ends = [
      ...scripts.map((script) => refusal(app.sandboxes.exec(doomed, 'bash', ['-c', script]))),
      ...scripts.map(async (script) => (await app.sandboxes.spawn(doomed, 'bash', ['-c', script])).drain()),
    ];
    await appeared(marker, 6);
    const late = Promise.all([1, 2, 3].map(() => refusal(app.sandboxes.destroy(doomed))));
    const raced = refusal(app.sandboxes.exec(doomed, 'true', []));
    expect(await late).toEqual([1, 2, 3].map(() => ({ resolved: undefined })));
    await settles('everything that ran', Promise.all(ends));
    expect(await settles('the exec that raced', raced)).toMatchObject({ code: 'not_found' });
    await allGone(marker, 1_000);
    expect(await readdir(join(home, '..'))).not.toContain(name);
    expect(await refusal(app.sandboxes.get(doomed))).toMatchObject({ code: 'not_found' });
  });
});

describe('files', () => {
  test('a given mode is kept whatever the umask; without one a new file gets 644 and an old one keeps its own', async () => {
    const modeOf = async (path: string): Promise<string> => ((await stat(join(home, path))).mode & 0o7777).toString(8);
    for (const mode of [0o755, 0o600, 0o444, 0o777]) {
      await app.sandboxes.writeFile(handle, `modes/${mode.toString(8)}`, 'x', { mode });
      expect(await modeOf(`modes/${mode.toString(8)}`)).toBe(mode.toString(8));
    }
    await app.sandboxes.writeFile(handle, 'modes/default', 'x');
    expect(await modeOf('modes/default')).toBe('644');
    await app.sandboxes.writeFile(handle, 'modes/755', 'y');
    expect(await modeOf('modes/755')).toBe('755');
    expect(await readFile(join(home, 'modes/755'), 'utf8')).toBe('y');
  });

  test('bytes, text and a stream; parents are created; home has three names', async () => {
    await app.sandboxes.writeFile(handle, '/home/sprite/deep/er/a.txt', 'text ü');
    await app.sandboxes.writeFile(handle, '~/deep/er/b.bin', Buffer.of(0, 255, 10));
    await app.sandboxes.writeFile(
      handle,
      'deep/er/c.txt',
      (async function* () {
        yield 'one ';
        yield Buffer.from('two');
      })(),
    );
    await app.sandboxes.writeFile(handle, 'deep/er/empty', '');
    expect(await readFile(join(home, 'deep/er/a.txt'), 'utf8')).toBe('text ü');
    expect(await readFile(join(home, 'deep/er/b.bin'))).toEqual(Buffer.of(0, 255, 10));
    expect(await readFile(join(home, 'deep/er/c.txt'), 'utf8')).toBe('one two');
    expect((await readdir(join(home, 'deep/er'))).toSorted()).toEqual(['a.txt', 'b.bin', 'c.txt', 'empty']);
  });

  test('a reader never sees half a file', async () => {
    const versions = [Buffer.alloc(500_000, 'a'), Buffer.alloc(500_000, 'b')] as const;
    await app.sandboxes.writeFile(handle, 'atomic', versions[0]);
    const writing = new AbortController();
    const reading = (async () => {
      const seen = new Set<string>();
      while (!writing.signal.aborted) seen.add(sha256(await readFile(join(home, 'atomic'))));
      return seen;
    })();
    for (let i = 1; i <= 30; i += 1) await app.sandboxes.writeFile(handle, 'atomic', versions[i % 2 === 0 ? 0 : 1]);
    writing.abort();
    const allowed = new Set(versions.map(sha256));
    expect([...(await reading)].filter((hash) => !allowed.has(hash))).toEqual([]);
    expect((await readdir(home)).filter((name) => name !== 'atomic' && name.includes('atomic'))).toEqual([]);
  });

  test('a path that leaves the sandbox is refused, and nothing outside is touched', async () => {
    const outside = await tempDir('outside');
    await writeFile(join(outside.path, 'present'), 'untouched');
    await symlink(outside.path, join(home, 'way-out')).catch(() => {});
    await symlink(join(outside.path, 'present'), join(home, 'link-present')).catch(() => {});
    await symlink(join(outside.path, 'absent'), join(home, 'link-absent')).catch(() => {});
    await symlink('loop-b', join(home, 'loop-a')).catch(() => {});
    await symlink('loop-a', join(home, 'loop-b')).catch(() => {});
    const expected = { code: 'invalid', detail: 'path_outside_sandbox', effect: 'none' };
    for (const path of [
      'way-out/new.txt',
      'way-out/present',
      '../escape',
      'a/../../escape',
      '/home/sprite/../escape',
      join(outside.path, 'new.txt'),
      '/etc/nestjs-sandbox-test',
    ]) {
      expect([path, await refusal(app.sandboxes.writeFile(handle, path, 'x'))]).toEqual([path, expected]);
    }
    for (const path of ['link-present', 'link-absent', 'loop-a']) {
      await refusal(app.sandboxes.writeFile(handle, path, 'x'));
    }
    expect(await readdir(outside.path)).toEqual(['present']);
    expect(await readFile(join(outside.path, 'present'), 'utf8')).toBe('untouched');
    await outside.remove();
  });

  test('two paths of one machine: hostPath maps home and leaves the rest', async () => {
    expect(await app.sandboxes.hostPath(handle, '/home/sprite/a b')).toBe(join(home, 'a b'));
    expect(await app.sandboxes.hostPath(handle, '/etc/hosts')).toBe('/etc/hosts');
    expect((await sh('pwd')).text()).toBe(`${home}\n`);
  });
});

describe('sessions', () => {
  test('a detachable command lives on, is listed, and is attached from its first byte', async () => {
    const command = await spawnSh('echo first; read a; echo "second $a"; read b; exit 9', {
      stdin: true,
      detachable: true,
    });
    const id = command.sessionId as string;
    expect(id).toMatch(/^[A-Za-z0-9_-]{22,256}$/);
    expect(
      Buffer.from(((await command[Symbol.asyncIterator]().next()).value as { data: Uint8Array }).data).toString(),
    ).toBe('first\n');
    await command.stop();
    expect(await refusal(command.writeStdin('x'))).toMatchObject({ code: 'unavailable', detail: 'detached' });
    expect(await refusal(command.exit)).toMatchObject({ code: 'unavailable', detail: 'detached' });
    expect((await app.sandboxes.listSessions(handle)).filter((session) => session.id === id)).toEqual([
      {
        id,
        command: expect.stringContaining('bash'),
        createdAt: expect.any(Date),
        lastActivityAt: expect.any(Date),
        tty: false,
      },
    ]);

    const again = await app.sandboxes.attach(handle, id, { stdin: true });
    const late = await app.sandboxes.attach(handle, id, { from: { stdout: 3 } });
    const now = await app.sandboxes.attach(handle, id, { from: 'now' });
    const all = [collect(again), collect(late), collect(now)];
    await again.writeStdin('line\n');
    await again.writeStdin('\n');
    const exit = { exitCode: 9 };
    expect((await Promise.all(all)).map((seen) => [seen.stdout.toString(), seen.exit])).toEqual([
      ['first\nsecond line\n', exit],
      ['st\nsecond line\n', exit],
      ['second line\n', exit],
    ]);
    const finished = await collect(await app.sandboxes.attach(handle, id));
    expect([finished.stdout.toString(), finished.exit]).toEqual(['first\nsecond line\n', exit]);
    expect((await app.sandboxes.listSessions(handle)).some((session) => session.id === id)).toBe(false);
    expect(await refusal(app.sandboxes.attach(handle, id, { from: { stdout: 1_000 } }))).toEqual({
      code: 'invalid',
      detail: 'offset_beyond_end',
      effect: 'none',
    });
  });

  test('an id of another sandbox, or of none, is not found', async () => {
    const other = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
    const command = await app.sandboxes.spawn(other, 'sleep', ['3600'], { detachable: true });
    const expected = { code: 'not_found', detail: undefined, effect: 'none' };
    expect(await refusal(app.sandboxes.attach(handle, command.sessionId as string))).toEqual(expected);
    expect(await refusal(app.sandboxes.attach(handle, 'A'.repeat(22)))).toEqual(expected);
    await app.sandboxes.destroy(other);
    expect(await refusal(app.sandboxes.attach(other, command.sessionId as string))).toEqual(expected);
  });

  test('what runners cannot do is refused before any effect', async () => {
    const expected = { code: 'not_supported', detail: undefined, effect: 'none' };
    expect(await refusal(spawnSh('touch ran', { tty: true }))).toMatchObject(expected);
    expect(await refusal(app.sandboxes.applyNetworkPolicy(handle, { allow: [] }))).toMatchObject(expected);
    expect(await refusal(app.sandboxes.publicUrl(handle, { port: 80 }))).toMatchObject(expected);
    expect(await refusal(app.sandboxes.createCheckpoint(handle))).toMatchObject(expected);
    expect(await readdir(home)).not.toContain('ran');
  });

  test('one reader: the second is told so', async () => {
    const command = await spawnSh('echo once');
    const first = collect(command);
    expect(await refusal(command.drain())).toEqual({ code: 'invalid', detail: 'already_consumed', effect: 'none' });
    expect((await first).stdout.toString()).toBe('once\n');
  });
});

test('no token, value of the environment or output is in the logs of either end', async () => {
  const secret = `secret-${randomBytes(8).toString('hex')}`;
  await sh('echo "$SECRET"; echo "$SECRET" >&2', { env: { SECRET: secret } });
  await collect(await spawnSh('cat; echo "$SECRET"', { env: { SECRET: secret } }));
  await refusal(sh(`echo ${secret}`, { env: { 'A=B': secret } }));
  await refusal(sh(`echo ${secret}; sleep 3600`, { env: { SECRET: secret }, timeoutMs: 100 }));
  await refusal(app.sandboxes.exec(handle, 'no-such-program', [], { env: { SECRET: secret } }));
  const command = await app.sandboxes.spawn(handle, 'cat', [], { stdin: true });
  const seen = collect(command);
  await command.writeStdin(secret);
  await command.closeStdin();
  await seen;
  const refused = await DaemonProcess.launch({ url: app.url, token: `${RUNNER_TOKEN}-wrong`, logLevel: 'debug' });
  await until('the daemon with a wrong token ends', () => refused.ended);
  await refused.dispose();
  const logs = {
    platform: app.logs.join('\n'),
    daemon: daemon.stderr + daemon.stdout,
    refused: refused.stderr + refused.stdout,
  };
  expect(logs.daemon).not.toBe('');
  expect(logs.refused).toMatch(/token/i);
  for (const [end, text] of Object.entries(logs)) {
    expect([end, text.includes(secret), text.includes(RUNNER_TOKEN)]).toEqual([end, false, false]);
  }
});
