import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newNonce } from '../../src/adapters/common/session-id.js';
import { readProgram, shimProgram, type ShimCommand } from '../../src/adapters/common/shim.js';
import { processesOf } from '../support/processes.js';
import { SHELLS, ShimProgram, installed } from '../support/shim-program.js';
import { tempDir } from '../support/temp-dir.js';
import { settles, until } from '../support/until.js';

/** Copies a line, and works on for a while, without once being idle, before it says how much that was. */
const SLOW_DD = `#!/bin/sh
IFS= read -r line || exit 1
printf '%s\\n' "$line"
i=0; while [ "$i" -lt 100000 ]; do i=$((i + 1)); done
printf '0+1 records in\\n0+1 records out\\n%d bytes copied\\n' "$((\${#line} + 1))" >&2
`;

describe.each(SHELLS)('the pump of stdin under %s', (name, shell) => {
  // oxlint-disable-next-line jest/no-disabled-tests -- not every machine has every shell
  if (!installed(shell)) return test.skip(`${name} is not installed`, () => expect.assertions(0));

  let home: Awaited<ReturnType<typeof tempDir>>;

  beforeAll(async () => {
    home = await tempDir('shim-stdin');
  });
  afterAll(() => home.remove());

  const start = (
    cmd: string,
    args: readonly string[],
    more: Partial<ShimCommand> = {},
    env: NodeJS.ProcessEnv = {},
  ) => {
    const nonce = newNonce();
    const command = { nonce, cmd, args, env: [], stdin: true, detachable: true, acknowledged: true, ...more };
    return Object.assign(new ShimProgram(shell, home.path, shimProgram(command), nonce, env), { nonce });
  };
  const told = ({ words }: ShimProgram): string | undefined => words.findLast((word) => word.startsWith('i '));

  test('counts what the pipe of the command took, and passes on every byte and the end', async () => {
    const program = start('cat', []);
    await until('it was counted', () => told(program) === 'i 0 -');
    program.stdin.write('abc');
    await until('it was counted', () => told(program) === 'i 3 -');
    const data = randomBytes(1_000_000);
    program.stdin.end(data);
    await settles('the program', program.ended);
    expect(program.stdout.equals(Buffer.concat([Buffer.from('abc'), data]))).toBe(true);
    expect(program.words.at(-1)).toBe('x 0 1000003 0 -');
    expect(told(program)).toBe('i 1000003 e');
  });

  test('counts no piece that a command which does not read leaves in its pipe', async () => {
    const program = start('sh', ['-c', 'read -r line; sleep 300']);
    program.stdin.write(`${'x'.repeat(1023)}\n`);
    await until('the line was counted', () => told(program) === 'i 1024 -');
    program.stdin.write(Buffer.alloc(400_000));
    const reader = new ShimProgram(
      shell,
      home.path,
      readProgram(program.nonce, { stdout: 0, stderr: 0, credits: 1, takeOver: false }),
    );
    await until('another reader was told', () => told(reader) !== undefined);
    expect(Number(told(program)?.split(' ')[1])).toBeLessThan(200_000);
    program.signal('SIGKILL');
    reader.stdin.end();
    await Promise.all([program.ended, settles('the reader', reader.ended)]);
  });

  test('counts what a command took that ends before it was counted', async () => {
    const bin = join(home.path, 'bin');
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, 'dd'), SLOW_DD, { mode: 0o755 });
    const program = start('head', ['-c', '6'], {}, { PATH: `${bin}:${process.env['PATH'] ?? ''}` });
    program.stdin.write('abcde\n');
    await settles('the program', program.ended);
    expect(program.stdout.toString()).toBe('abcde\n');
    expect(program.words.slice(-2)).toEqual(['i 6 -', 'x 0 6 0 -']);
    program.stdin.end();
  });

  test('counts what a command took that ends while somebody else speaks', async () => {
    const program = start('head', ['-c', '6']);
    await until('it was counted', () => told(program) === 'i 0 -');
    const directory = join(home.path, '.nestjs-sandbox', 'sessions', program.nonce);
    const lock = await open(join(directory, 'lock'), 'r+');
    await lock.read(Buffer.alloc(1));
    program.stdin.write('abcde\n');
    await until('its pump was told to end', () => existsSync(join(directory, 'end')));
    await lock.write('\n');
    await lock.close();
    await settles('the program', program.ended);
    expect(program.words).toContain('i 6 -');
    program.stdin.end();
  });

  test('says that the command has closed its stdin', async () => {
    const program = start('sh', ['-c', 'exec </dev/null; echo up; exec sleep 300']);
    await until('it runs', () => program.stdout.toString() === 'up\n');
    program.stdin.write('nobody reads this');
    await until('it was told', () => told(program) !== 'i 0 -');
    expect(told(program)).toBe('i 0 b');
    program.signal('SIGKILL');
    await program.ended;
  });

  test('ends with the command, with nothing of it left', async () => {
    const program = start('sh', ['-c', 'echo up; exec sleep 300'], { once: true, detachable: false });
    await until('it runs', () => program.stdout.toString() === 'up\n');
    expect(await processesOf(home.path)).not.toEqual([]);
    program.signal('SIGTERM');
    await settles('the program', program.ended);
    expect(program.words.at(-1)).toBe('x 143 3 0 -');
    await until('nothing is left', async () => (await processesOf(home.path)).length === 0);
    expect(await readdir(join(home.path, '.nestjs-sandbox', 'runs'))).not.toContain(program.nonce);
  });

  test('ends with a command that ends by itself', async () => {
    const program = start('true', [], { once: true, detachable: false });
    await until('it was recorded', () => program.words.at(-1) === 'x 0 0 0 -');
    await until('nothing is left', async () => (await processesOf(home.path)).length === 0);
    expect(await readdir(join(home.path, '.nestjs-sandbox', 'runs'))).not.toContain(program.nonce);
  });

  test('outlives a TERM that the command outlives', async () => {
    const program = start('sh', ['-c', 'trap "" TERM; echo up; exec cat']);
    await until('it runs', () => program.stdout.toString() === 'up\n');
    program.signal('SIGTERM');
    program.stdin.write('still\n');
    await until('it reads on', () => program.stdout.toString().endsWith('still\n'));
    program.stdin.end();
    await settles('the program', program.ended);
    expect(told(program)).toBe('i 6 e');
  });

  test.each(['bash', 'sh', 'cat'])('lets %s open /dev/stdin, also after all of it came and ended', async (cmd) => {
    const now = start(cmd, ['/dev/stdin']);
    now.stdin.end('echo it runs\n');
    const late = start('sh', ['-c', 'sleep 0.3; exec "$1" /dev/stdin', 'sh', cmd]);
    late.stdin.end('echo it runs\n');
    await settles('the programs', Promise.all([now.ended, late.ended]));
    const expected = cmd === 'cat' ? 'echo it runs\n' : 'it runs\n';
    expect([now.stdout.toString(), late.stdout.toString()]).toEqual([expected, expected]);
  });

  test('tells a reader that waits for credit', async () => {
    const program = start('sh', ['-c', 'echo much; cat >&2']);
    await until('it runs', () => program.stdout.toString() === 'much\n');
    const reader = new ShimProgram(
      shell,
      home.path,
      readProgram(program.nonce, { stdout: 0, stderr: 0, credits: 1, takeOver: false }),
    );
    await until('the reader is there', () => reader.stdout.toString() === 'much\n');
    program.stdin.write('one');
    await until('it was told without credit', () => told(reader) === 'i 3 -');
    program.stdin.write('two');
    await until('it was told without credit', () => told(reader) === 'i 6 -');
    expect(reader.stderr.toString()).toBe('');
    for (let i = 0; i < 5; i += 1) reader.stdin.write('\n');
    program.stdin.end();
    await settles('both', Promise.all([reader.ended, program.ended]));
    expect(reader.stderr.toString()).toBe('onetwo');
    expect(reader.words.at(-1)).toBe('x 0 5 6 -');
  });
});
