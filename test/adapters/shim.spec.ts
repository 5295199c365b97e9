import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { allGone, sleepMarker } from '../support/processes.js';
import { SHELLS, ShimProgram, installed } from '../support/shim-program.js';
import { tempDir } from '../support/temp-dir.js';
import { settles, until } from '../support/until.js';
import { newNonce } from '../../src/adapters/common/session-id.js';
import {
  probeProgram,
  readProgram,
  recordKillProgram,
  shimProgram,
  type ReadFrom,
  type ShimCommand,
} from '../../src/adapters/common/shim.js';

describe.each(SHELLS)('the shim under %s', (name, shell) => {
  // oxlint-disable-next-line jest/no-disabled-tests -- not every machine has every shell
  if (!installed(shell)) return test.skip(`${name} is not installed`, () => expect.assertions(0));

  let home: Awaited<ReturnType<typeof tempDir>>;

  beforeAll(async () => {
    home = await tempDir('shim');
  });
  afterAll(() => home.remove());

  const start = (
    command: Partial<ShimCommand> & { cmd: string },
    env?: NodeJS.ProcessEnv,
  ): ShimProgram & { nonce: string } => {
    const nonce = command.nonce ?? newNonce();
    const program = shimProgram({ args: [], env: [], stdin: false, detachable: true, ...command, nonce });
    return Object.assign(new ShimProgram(shell, home.path, program, nonce, env), { nonce });
  };
  const run = async (command: Partial<ShimCommand> & { cmd: string }, env?: NodeJS.ProcessEnv) => {
    const program = start(command, env);
    if (!command.stdin) program.stdin.end();
    await settles('the program', program.ended);
    return program;
  };
  const sh = (script: string, ...args: string[]) => ({ cmd: 'sh', args: ['-c', script, 'sh', ...args] });
  const read = (nonce: string, from: Partial<ReadFrom> = {}): ShimProgram =>
    new ShimProgram(
      shell,
      home.path,
      readProgram(nonce, { stdout: 0, stderr: 0, credits: 1000, takeOver: false, ...from }),
    );

  test('gives both streams byte by byte and then the exit', async () => {
    const { words, stdout, stderr } = await run(sh('printf "a\\0b"; printf "\\377x" >&2; exit 7'));
    expect(stdout).toEqual(Buffer.from('a\0b'));
    expect(stderr).toEqual(Buffer.from([0xff, 0x78]));
    expect(words).toEqual([expect.stringMatching(/^r \d+ 0$/), 'x 7 3 2 -']);
  });

  test('hands over every argument as it is', async () => {
    const args = ['', ' ', "it's", '$HOME `x` "q"', 'a\nb\n', '*', '\\', '-n', 'é\u{1f600}\u0001\u007f', '--'];
    const { stdout } = await run({
      cmd: process.execPath,
      args: ['-e', 'console.log(JSON.stringify(process.argv.slice(1)))', '--', ...args],
    });
    expect(JSON.parse(stdout.toString())).toEqual(args);
  });

  test('sets variables on top of the environment, whatever their names', async () => {
    const env = [
      ['PLAIN', 'a b'],
      ['with.dot', "it's\n$x"],
      ['__proto__', 'p'],
      ['EMPTY', ''],
    ] as const;
    const { stdout } = await run({ cmd: 'env', args: ['-0'], env }, { KEPT: 'yes' });
    const seen = Object.fromEntries(
      stdout
        .toString()
        .split('\0')
        .filter(Boolean)
        .map((line) => {
          const at = line.indexOf('=');
          return [line.slice(0, at), line.slice(at + 1)];
        }),
    );
    expect(seen).toMatchObject({ PLAIN: 'a b', 'with.dot': "it's\n$x", EMPTY: '', KEPT: 'yes', HOME: home.path });
    expect(Object.keys(seen).filter((key) => key.startsWith('sb'))).toEqual([]);
  });

  test('looks a program up in the PATH that the command is given', async () => {
    await mkdir(join(home.path, 'bin'), { recursive: true });
    await writeFile(join(home.path, 'bin', 'mine=1'), '#!/bin/sh\necho "mine $1"\n', { mode: 0o755 });
    const path = `${join(home.path, 'bin')}:${process.env['PATH']}`;
    const { stdout, words } = await run({ cmd: 'mine=1', args: ['x'], env: [['PATH', path]] });
    expect(stdout.toString()).toBe('mine x\n');
    expect(words.at(-1)).toBe('x 0 7 0 -');
  });

  test('runs programs, never words of the shell', async () => {
    expect((await run({ cmd: 'eval', args: ['echo no'] })).words.at(-1)).toBe('x 127 0 0 s');
  });

  test('says that a program is missing, or cannot be run', async () => {
    await writeFile(join(home.path, 'plain'), 'x');
    await chmod(join(home.path, 'plain'), 0o644);
    expect((await run({ cmd: 'no-such-program' })).words.at(-1)).toBe('x 127 0 0 s');
    expect((await run({ cmd: './plain' })).words.at(-1)).toBe('x 126 0 0 s');
    expect((await run({ cmd: '/' })).words.at(-1)).toBe('x 126 0 0 s');
    expect((await run(sh('exit 127'))).words.at(-1)).toBe('x 127 0 0 -');
  });

  test('runs nothing where the directory is missing', async () => {
    const marker = join(home.path, 'ran');
    const { words } = await run({ ...sh('touch "$1"', marker), dir: 'no/such' });
    expect(words).toEqual(['d']);
    await expect(readFile(marker)).rejects.toThrow(/ENOENT/);
  });

  test('runs in the directory that was asked for', async () => {
    await mkdir(join(home.path, 'sub dir', '-'), { recursive: true });
    expect((await run({ cmd: 'pwd' })).stdout.toString()).toBe(`${home.path}\n`);
    expect((await run({ cmd: 'pwd', dir: '~/sub dir' })).stdout.toString()).toBe(`${home.path}/sub dir\n`);
    expect((await run({ cmd: 'pwd', dir: 'sub dir/-' })).stdout.toString()).toBe(`${home.path}/sub dir/-\n`);
  });

  test('gives stdin to the command as it is, or nothing', async () => {
    const program = start({ cmd: 'cat', stdin: true });
    const data = randomBytes(300_000);
    program.stdin.end(data);
    await program.ended;
    expect(program.stdout.equals(data)).toBe(true);
    expect((await run({ cmd: 'cat' })).words.at(-1)).toBe('x 0 0 0 -');
  });

  test('keeps the order of both streams where they are one', async () => {
    const { stdout, words } = await run({
      ...sh('for i in 1 2 3; do echo o$i; echo e$i >&2; done'),
      stderrToStdout: true,
    });
    expect(stdout.toString()).toBe('o1\ne1\no2\ne2\no3\ne3\n');
    expect(words.at(-1)).toBe('x 0 18 0 -');
  });

  test('loses nothing to a command that opens /dev/stdout or /dev/stderr', async () => {
    const { stdout, stderr } = await run(sh('echo a; echo b >/dev/stdout; echo c; echo d >/dev/stderr; echo e >&2'));
    expect([stdout.toString(), stderr.toString()]).toEqual(['a\nb\nc\n', 'd\ne\n']);
  });

  test('prints output while the command runs', async () => {
    const program = start({ ...sh('echo first; read -r line; echo "got $line"'), stdin: true });
    await until('the first line came', () => program.stdout.toString() === 'first\n');
    program.stdin.end('second\n');
    await program.ended;
    expect(program.stdout.toString()).toBe('first\ngot second\n');
  });

  test('does not lose the end of a large output', async () => {
    const { stdout, words } = await run(sh('head -c 30000000 /dev/zero; printf end'));
    expect(stdout.byteLength).toBe(30_000_003);
    expect(stdout.subarray(-3).toString()).toBe('end');
    expect(words.at(-1)).toBe('x 0 30000003 0 -');
  });

  test('ends with its leader, not with what that left behind', async () => {
    const startedAt = performance.now();
    const program = await run(sh('sleep 20 & head -c 200000 /dev/zero; echo done >&2'));
    expect(program.words.at(-1)).toBe('x 0 200000 5 -');
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    program.signal('SIGKILL');
  });

  test('measures a death by signal as the shell does and claims no signal', async () => {
    expect((await run(sh('kill -KILL $$'))).words.at(-1)).toBe('x 137 0 0 -');
    expect((await run(sh('kill -TERM $$'))).words.at(-1)).toBe('x 143 0 0 -');
  });

  test('outlives a TERM to its group to record the exit, and then ends the group', async () => {
    const marker = sleepMarker();
    const script =
      'trap "echo bye; exit 3" TERM; (trap "" TERM; exec sleep $1) & echo up; while :; do sleep 0.05; done';
    const program = start(sh(script, marker));
    await until('it runs', () => program.stdout.toString() === 'up\n');
    program.signal('SIGTERM');
    await settles('the program', program.ended);
    expect(program.stdout.toString()).toBe('up\nbye\n');
    // Some shells tell their stderr about the `sleep` that died.
    expect(program.words.at(-1)).toMatch(/^x 3 7 \d+ -$/);
    await allGone(`sleep ${marker}`);
  });

  test('records the exit however often its group gets a TERM', async () => {
    const program = start(sh('echo up; exec sleep 300'));
    await until('it runs', () => program.stdout.toString() === 'up\n');
    const running = { signal: true };
    const ended = program.ended.finally(() => (running.signal = false));
    while (running.signal) {
      program.signal('SIGTERM');
      await new Promise((resolve) => setImmediate(resolve));
    }
    await ended;
    expect(program.stdout.toString()).toBe('up\n');
    expect(program.words.at(-1)).toBe('x 143 3 0 -');
  });

  test('replays from any offset, later too', async () => {
    const { nonce } = await run(sh('echo 0123456789; echo abcdef >&2; exit 4'));
    const whole = read(nonce);
    await whole.ended;
    expect([whole.stdout.toString(), whole.stderr.toString()]).toEqual(['0123456789\n', 'abcdef\n']);
    expect(whole.words).toEqual(['f 0 0 0', 'x 4 11 7 -']);
    const part = read(nonce, { stdout: 4, stderr: 7 });
    Object.assign(part.base, { stdout: 4, stderr: 7 });
    await part.ended;
    expect([part.stdout.toString(), part.stderr.toString()]).toEqual(['456789\n', '']);
    expect(part.words).toEqual(['f 4 7 0', 'x 4 11 7 -']);
    const now = read(nonce, { stdout: 'now', stderr: 'now' });
    await now.ended;
    expect(now.words).toEqual(['f 11 7 0', 'x 4 11 7 -']);
    const beyond = read(nonce, { stdout: 12 });
    await beyond.ended;
    expect(beyond.words).toEqual(['b 11 7']);
    const nobody = read(newNonce());
    await nobody.ended;
    expect(nobody.words).toEqual(['n']);
  });

  test('reads on only for credit, and pauses at the end of stdin', async () => {
    const { nonce } = await run(sh('head -c 3500000 /dev/zero'));
    const reader = read(nonce, { credits: 1 });
    await until('the first piece came', () => reader.stdout.byteLength === 1_048_576);
    reader.stdin.write('\n');
    await until('the second piece came', () => reader.stdout.byteLength === 2_097_152);
    reader.stdin.end();
    await reader.ended;
    expect(reader.words).toEqual(['f 0 0 0', 'p']);
    expect(reader.stdout.byteLength).toBe(2_097_152);
  });

  test('a reader takes over from the shim and goes on live', async () => {
    const program = start({ ...sh('echo a; read -r x; echo b; read -r x; echo c'), stdin: true });
    await until('the first line came', () => program.stdout.toString() === 'a\n');
    const reader = read(program.nonce, { stdout: 2, takeOver: true });
    Object.assign(reader.base, { stdout: 2 });
    await until('the reader is there', () => reader.words[0] === 'f 2 0 1');
    program.stdin.write('\n');
    await until('the second line came', () => reader.stdout.toString() === 'b\n');
    program.stdin.write('\n');
    await Promise.all([reader.ended, program.ended]);
    expect(reader.words.at(-1)).toBe('x 0 6 0 -');
    expect(program.words).toHaveLength(1);
  });

  test('tells a session whose shim died without a record from one that ended, and records a kill', async () => {
    const program = start(sh('echo up; exec sleep 300'));
    await until('it runs', () => program.stdout.toString() === 'up\n');
    const probe = async (text: string): Promise<string[]> => {
      const asked = new ShimProgram(shell, home.path, text);
      await asked.ended;
      return asked.words;
    };
    expect(await probe(probeProgram(program.nonce))).toEqual([`a ${program.pid}`]);
    expect(await probe(recordKillProgram(program.nonce))).toEqual([`a ${program.pid}`]);
    program.signal('SIGKILL');
    await program.ended;
    expect(await probe(probeProgram(program.nonce))).toEqual(['l']);
    const lost = read(program.nonce);
    await settles('the reader', lost.ended);
    expect(lost.words).toEqual(['f 0 0 0', 'l']);
    expect(lost.stdout.toString()).toBe('up\n');
    expect(await probe(recordKillProgram(program.nonce))).toEqual(['x 137 3 0 k']);
    expect(await probe(recordKillProgram(program.nonce))).toEqual(['x 137 3 0 k']);
    expect(await probe(probeProgram(program.nonce))).toEqual(['x 137 3 0 k']);
  });

  test('ends without an exit when its journal was deleted', async () => {
    const program = start({ ...sh('echo up; read -r x; rm -rf "$HOME/.nestjs-sandbox"'), stdin: true });
    await until('it runs', () => program.stdout.toString() === 'up\n');
    program.stdin.end('\n');
    await settles('the program', program.ended);
    expect(program.words.slice(1)).toEqual(['l']);
  });

  test('ends without an exit where none can be recorded', async () => {
    const nonce = newNonce();
    const blocked = sh('mkdir "$HOME/.nestjs-sandbox/sessions/$1/exit.tmp"; echo up', nonce);
    const { words, stdout } = await run({ ...blocked, nonce });
    expect(stdout.toString()).toBe('up\n');
    expect(words.slice(1)).toEqual(['l']);
  });

  test('leaves no journal of a command that runs once', async () => {
    const { nonce, stdout } = await run({ ...sh('echo x'), detachable: false, once: true });
    expect(stdout.toString()).toBe('x\n');
    expect(await readdir(join(home.path, '.nestjs-sandbox', 'runs'))).not.toContain(nonce);
  });

  test('keeps the journals of the newest 20 that are not detachable', async () => {
    const nonces: string[] = [];
    for (let i = 0; i < 23; i += 1) nonces.push((await run({ cmd: 'true', detachable: false })).nonce);
    const kept = new Set(await readdir(join(home.path, '.nestjs-sandbox', 'runs')));
    expect(kept.size).toBe(20);
    expect(kept).toContain(nonces.at(-1));
  });

  test('survives a million bytes of arguments and gives the sum of them', async () => {
    const args = Array.from({ length: 10 }, (__, i) => String(i).repeat(100_000));
    const { stdout } = await run({
      cmd: process.execPath,
      args: [
        '-e',
        'console.log(require("crypto").createHash("sha256").update(process.argv.slice(1).join("")).digest("hex"))',
        '--',
        ...args,
      ],
    });
    expect(stdout.toString().trim()).toBe(createHash('sha256').update(args.join('')).digest('hex'));
  });
});
