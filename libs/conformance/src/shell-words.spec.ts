import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { shellWords } from './shell-words.js';
import { PATTERN_LINE, puppetLine, type Vocabulary, type Words } from './vocabulary.js';

const SHELLS = { dash: 'dash', bash: 'bash', busybox: 'busybox' };
const installed = Object.values(SHELLS).filter((name) => spawnSync(name, ['true']).error === undefined);
const missing = Object.values(SHELLS).filter((name) => !installed.includes(name));

describe.each(installed)('with %s as sh, a word', (shell) => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'shell-words-'));
    const sh = spawnSync('sh', ['-c', `command -v ${shell}`], { encoding: 'utf8' }).stdout.trim();
    symlinkSync(sh, join(directory, 'sh'));
  });

  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const options = () => ({
    cwd: directory,
    env: { PATH: `${directory}:${process.env['PATH']}`, A: 'one\ntwo', EMPTY: '' },
  });

  function run({ cmd, args }: Words, input = '') {
    const { stdout, stderr, status, signal } = spawnSync(cmd, args, { ...options(), input, maxBuffer: 2 ** 26 });
    return { stdout: stdout.toString('latin1'), stderr: stderr.toString('latin1'), status, signal };
  }

  const printed = (stdout: string, status = 0) => ({ stdout, stderr: '', status, signal: null });

  test('prints bytes of every value to either stream', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    const text = Buffer.from(bytes).toString('latin1');
    expect(run(shellWords.print({ stdout: bytes, stderr: bytes, exitCode: 7 }))).toEqual({
      stdout: text,
      stderr: text,
      status: 7,
      signal: null,
    });
    expect(run(shellWords.print({}))).toEqual(printed(''));
  });

  test('echoes arguments and variables as they are', () => {
    expect(run(shellWords.echoArguments('', 'a b', '-n', '*', '\\0', 'x\ny'))).toEqual(
      printed('\0a b\0-n\0*\0\\0\0x\ny\0'),
    );
    expect(run(shellWords.echoVariables('A', 'EMPTY', 'NONE'))).toEqual(printed('A=one\ntwo\0EMPTY=\0'));
    expect(run((shellWords as Required<Vocabulary>).showVariable('A'))).toEqual(printed('one\ntwo\n'));
    expect(run((shellWords as Required<Vocabulary>).showVariable('NONE'))).toEqual(printed('', 1));
  });

  test('copies and counts its input', () => {
    expect(run(shellWords.copyStdin('stdout'), 'a\0b')).toEqual(printed('a\0b'));
    expect(run(shellWords.copyStdin('stderr'), 'a\0b')).toEqual({ ...printed(''), stderr: 'a\0b' });
    expect(run(shellWords.countStdin(), 'x'.repeat(100_000))).toEqual(printed('100000\n'));
  });

  test('is a puppet', () => {
    const lines = [puppetLine({ out: 'a\n\0%\\' }), puppetLine({ err: 'é' }), puppetLine({ exit: 3 }), 'out:\\0101\n'];
    expect(run(shellWords.puppet(), lines.join(''))).toEqual({
      stdout: 'a\n\0%\\',
      stderr: Buffer.from('é').toString('latin1'),
      status: 3,
      signal: null,
    });
    expect(run(shellWords.puppet())).toEqual(printed(''));
  });

  test('writes volumes of exact size', () => {
    expect(run(shellWords.lines(20))).toEqual(printed(`${PATTERN_LINE}012`));
    expect(run(shellWords.lines(1_000_000)).stdout).toHaveLength(1_000_000);
    expect(run(shellWords.longLine(1_000_000)).stdout).toBe('x'.repeat(1_000_000));
    expect(run(shellWords.count(5, true))).toEqual({ stdout: '1\n3\n5\n', stderr: '2\n4\n', status: 0, signal: null });
    expect(run(shellWords.count(3))).toEqual(printed('1\n2\n3\n'));
  });

  test('dies of a signal', () => {
    expect(run(shellWords.dieOf('SIGKILL')).signal).toBe('SIGKILL');
    expect(run(shellWords.dieOf('SIGTERM')).signal).toBe('SIGTERM');
  });

  test('shows files, modes and what is there', () => {
    writeFileSync(join(directory, '-file'), 'content', { mode: 0o640 });
    expect(run(shellWords.showFile('-file'))).toEqual(printed('content'));
    expect(run(shellWords.showMode('./-file'))).toEqual(printed('640\n'));
    expect(run(shellWords.exists('-file')).status).toBe(0);
    expect(run(shellWords.exists('none')).status).toBe(1);
    expect(run(shellWords.link('-file', 'link')).status).toBe(0);
    expect(run(shellWords.showFile('link'))).toEqual(printed('content'));
    expect(run(shellWords.makeDirectory('d')).status).toBe(0);
    expect(run(shellWords.makeDirectory('d')).status).not.toBe(0);
    expect(run(shellWords.touch('d/empty')).status).toBe(0);
    expect(run(shellWords.showFile('d/empty'))).toEqual(printed(''));
    expect(run(shellWords.showFile('none')).status).not.toBe(0);
    expect(run(shellWords.echoDirectory()).stdout.endsWith(`${directory.split('/').at(-1)}\n`)).toBe(true);
  });

  test.each(['stay', 'stayThroughTerm', 'closeInput'] as const)('%s says ready and stays', async (word) => {
    const { cmd, args } = shellWords[word]();
    const child = spawn(cmd, args, { ...options(), detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
    const [ready] = (await once(child.stdout, 'data')) as [Buffer];
    expect(ready.toString()).toBe('ready\n');
    process.kill(-(child.pid as number), 'SIGKILL');
    await once(child, 'close');
  });

  test('tidies up at TERM, and ends with 0', async () => {
    const { cmd, args } = (shellWords as Required<Vocabulary>).tidyUp({ begun: 'begun', mark: 'tidied' });
    const child = spawn(cmd, args, { ...options(), detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    const [ready] = (await once(child.stdout, 'data')) as [Buffer];
    expect(ready.toString()).toBe('ready\n');
    expect(run(shellWords.exists('begun')).status).toBe(0);
    expect(run(shellWords.exists('tidied')).status).toBe(1);
    process.kill(-(child.pid as number), 'SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(run(shellWords.exists('tidied')).status).toBe(0);
  });

  test('leaves an errand in the background, or stays with it', async () => {
    const background = shellWords.background({ trigger: 'go', mark: 'done' });
    const child = spawn(background.cmd, background.args, { ...options(), stdio: ['ignore', 'pipe', 'ignore'] });
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(0);
    expect(run(shellWords.exists('done')).status).toBe(1);
    writeFileSync(join(directory, 'go'), '');
    child.stdout.resume();
    await once(child, 'close');
    expect(run(shellWords.exists('done')).status).toBe(0);
  });
});

if (missing.length > 0) {
  // oxlint-disable-next-line jest/no-disabled-tests -- not every machine has every shell
  test.skip(`not run: no ${missing.join(', no ')} on this machine`, () => expect.assertions(0));
}
