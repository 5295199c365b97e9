import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { sha256 } from './support/collect.js';
import { REPOSITORY } from './support/dist.js';
import { appeared, allGone, sleepMarker } from './support/processes.js';
import { StartProcess } from './support/start-process.js';
import { tempDir } from './support/temp-dir.js';
import { until } from './support/until.js';

const NOTHING = { files: [], processes: [] };

describe('npm start -- --run', () => {
  test('through npm, as one types it: the output and the exit code, and nothing is left', async () => {
    await using start = await StartProcess.launch('echo main-job-$((6*7)); exit 7', { via: 'npm' });
    start.read().child.stdin.end();
    expect(await start.outcome()).toEqual({ stdout: 'main-job-42\n', stderr: '', code: 7 });
    expect(await start.left()).toEqual(NOTHING);
  });

  test.each([
    ['true', '', '', 0],
    ['echo out; echo err >&2; exit 3', 'out\n', 'err\n', 3],
    ['kill -TERM $$', '', '', 143],
    ['kill -KILL $$', '', '', 137],
    ['no-such-program 2>/dev/null', '', '', 127],
    ['cat; echo end', 'end\n', '', 0],
    ['printf "%s" "$HOME" | grep -c sandbox-runner-', '1\n', '', 0],
  ])('%s', async (script, stdout, stderr, code) => {
    await using start = await StartProcess.launch(script);
    start.read().child.stdin.end();
    expect(await start.outcome()).toEqual({ stdout, stderr, code });
    expect(await start.left()).toEqual(NOTHING);
  });

  test('output streams as it comes, and stdin goes in as it comes', async () => {
    await using start = await StartProcess.launch('while read line; do echo "got $line"; done; echo eof');
    start.read();
    for (const line of ['one', 'two']) {
      start.child.stdin.write(`${line}\n`);
      await until(`${line} comes back`, () => start.stdout.toString().endsWith(`got ${line}\n`));
    }
    start.child.stdin.end();
    expect(await start.outcome()).toEqual({ stdout: 'got one\ngot two\neof\n', stderr: '', code: 0 });
  });

  test('a command that does not wait for stdin does not make us wait for it', async () => {
    await using start = await StartProcess.launch('echo done');
    expect(await start.read().outcome()).toEqual({ stdout: 'done\n', stderr: '', code: 0 });
  });

  test('50 MB through cat are identical, with a reader that sleeps until all was sent', async () => {
    const input = randomBytes(50_000_000);
    await using start = await StartProcess.launch('cat');
    start.child.stdin.end(input);
    await once(start.child.stdin, 'finish');
    expect(start.ended).toBeUndefined();
    start.read();
    expect(await start.code()).toBe(0);
    expect([start.stdout.byteLength, sha256(start.stdout)]).toEqual([input.byteLength, sha256(input)]);
    expect(start.stderr).toBe('');
    expect(await start.left()).toEqual(NOTHING);
  });

  test('settings meant for another daemon do not reach its own', async () => {
    const env = { SANDBOX_RUNNER_LOG_LEVEL: 'nonsense', SANDBOX_RUNNER_TOKEN_FILE: '/nowhere', RUNNER_TOKENS: 'x' };
    await using start = await StartProcess.launch('env', { env });
    expect(await start.read().code()).toBe(0);
    expect(start.stdout.toString()).not.toMatch(/RUNNER/);
    expect(await start.left()).toEqual(NOTHING);
  });

  test('141 when nobody reads our stdout any more', async () => {
    await using start = await StartProcess.launch('yes');
    await once(start.child.stdout, 'data');
    start.child.stdout.destroy();
    expect(await start.code()).toBe(141);
    expect(await start.left()).toEqual(NOTHING);
  });

  test.each([
    ['SIGINT', 130, "trap '' TERM; "],
    ['SIGTERM', 143, ''],
    ['SIGHUP', 129, ''],
  ] as const)('%s ends it with %i, and what it ran', async (signal, code, deafness) => {
    const marker = sleepMarker();
    await using start = await StartProcess.launch(`read s; setsid sleep $s & ${deafness}sleep $s`);
    start.read().child.stdin.write(`${marker}\n`);
    await appeared(marker, 2);
    start.child.kill(signal);
    expect(await start.code()).toBe(code);
    expect(await start.left()).toEqual(NOTHING);
    await allGone(marker, 1_000);
  });

  test('SIGTERM to npm alone ends it as well', async () => {
    await using start = await StartProcess.launch('echo here; exec cat', { via: 'npm' });
    await once(start.child.stdout, 'data');
    start.child.kill('SIGTERM');
    expect(await start.read().code()).toBe(143);
    expect(await start.left()).toEqual(NOTHING);
  });

  test('killed outright, it takes its daemon and what that ran with it', async () => {
    const marker = sleepMarker();
    await using start = await StartProcess.launch('read s; setsid sleep $s & sleep $s');
    start.child.stdin.write(`${marker}\n`);
    await appeared(marker, 2);
    start.child.kill('SIGKILL');
    expect(await start.code()).toBe('SIGKILL');
    await allGone(marker);
    await until('no process is left', async () => (await start.left()).processes.length === 0);
  });

  test('a daemon that is killed is reported, and what it ran is ended', async () => {
    const marker = sleepMarker();
    await using start = await StartProcess.launch('read s; setsid sleep $s & echo $PPID; sleep $s');
    start.read().child.stdin.write(`${marker}\n`);
    await appeared(marker, 2);
    process.kill(Number(await until('the daemon is known', () => start.stdout.toString().trim())), 'SIGKILL');
    expect(await start.code()).toBe(125);
    expect(start.stderr).toContain('the connection to the runner ended');
    expect(await start.left()).toEqual(NOTHING);
    await allGone(marker, 1_000);
  });

  test.each([
    [['--run'], '--run needs a command'],
    [['--nope'], 'unknown option --nope'],
    [['--run', 'a', 'b'], 'unexpected argument after the command'],
  ])('%j is refused with 2', async (args, problem) => {
    const child = spawn(process.execPath, ['tools/start.mjs', ...args], {
      cwd: REPOSITORY,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdout.resume();
    expect(await once(child, 'close')).toEqual([2, null]);
    expect(stderr).toContain(problem);
  });
});

describe('npm start', () => {
  test('prints what uname said, the URL and how to connect; another runner does so; Ctrl-C drains and ends it', async () => {
    await using start = await StartProcess.launch(undefined);
    start.read();
    const text = await until('it tells how to stop it', () => printed(start));
    const uname = await output('uname', ['-a']);
    expect(text.startsWith(uname)).toBe(true);
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0] as string;
    expect(await runners(url)).toBe(1);

    const instructions = /^ {2}SANDBOX_RUNNER_URL=(?:.*\\\n)*.*$/m.exec(text)?.[0] as string;
    const own = await tempDir('second');
    const second = spawn('bash', ['-c', `exec ${instructions.trim().replace(/^/, 'env ')}`], {
      cwd: REPOSITORY,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TMPDIR: own.path },
    });
    second.stdout.resume();
    second.stderr.resume();
    const ended = once(second, 'close');
    await until('two runners are online', async () => (await runners(url)) === 2);

    start.child.kill('SIGINT');
    expect(await start.code()).toBe(0);
    expect(await start.left()).toEqual(NOTHING);
    second.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    await own.remove();
  });

  test('takes the port that PORT names, and says so when it is taken', async () => {
    await using first = await StartProcess.launch(undefined);
    first.read();
    const text = await until('it is up', () => printed(first));
    const port = /127\.0\.0\.1:(\d+)/.exec(text)?.[1] as string;
    await using second = await StartProcess.launch(undefined, { env: { PORT: port } });
    expect(await second.read().code()).toBe(1);
    expect(second.stderr).toContain('EADDRINUSE');
    expect(await second.left()).toEqual(NOTHING);
  });
});

/** What it printed, once that is all. */
function printed({ stdout }: StartProcess): string | undefined {
  const text = stdout.toString();
  return text.endsWith('Ctrl-C\n') ? text : undefined;
}

async function runners(url: string): Promise<number> {
  const response = await fetch(`${url}/health`);
  return ((await response.json()) as { runners: number }).runners;
}

async function output(program: string, args: string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  await once(child, 'close');
  return text;
}
