import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { FROM_STDIN, FROM_TERMINAL, fromStdinWithin } from './shim-start.js';

const SHELLS = [['sh'], ['bash'], ['busybox', 'sh']].filter(([shell = '']) => !spawnSync(shell, ['-c', ':']).error);
const TAG = 'the tag';

const open: ChildProcess[] = [];
afterEach(() => {
  for (const child of open.splice(0)) child.kill('SIGKILL');
});

/** A shell that waits for its program. */
function start([shell = '', ...more]: readonly string[], script: string, path = ''): ChildProcess {
  const env = { PATH: `${path}:${process.env['PATH']}` };
  const child = spawn(shell, [...more, '-c', script, TAG], { stdio: ['pipe', 'pipe', 'ignore'], env });
  open.push(child);
  return child;
}

async function output(child: ChildProcess): Promise<readonly [text: string, status: unknown]> {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  const [status] = (await once(child, 'close')) as [unknown];
  return [text, status];
}

/** What it takes to read a program of so many lines, which tells it itself. */
async function cpuSeconds(shell: readonly string[], lines: number): Promise<number> {
  const child = start(shell, FROM_STDIN);
  child.stdin?.end(`set -- '${'\n'.repeat(lines)}'\necho "\${#1}"\ntimes\n${TAG}\n`);
  const [text] = await output(child);
  const [count, ...times] = text.split(/\s+/);
  expect(count).toBe(String(lines));
  return times.reduce((sum, time) => {
    const [, minutes, seconds] = /^(\d+)m([\d.]+)s$/.exec(time) ?? [];
    return sum + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
  }, 0);
}

describe.each(SHELLS)('a program over stdin, in %s', (...shell) => {
  test.each([
    ['may come at any time', FROM_STDIN],
    ['has to come soon', fromStdinWithin(20)],
  ])('that %s runs as it came, and what follows is its own', async (_, script) => {
    const child = start(shell, script);
    const words = `'a  b' 'c\\d' '${'\n'.repeat(3)}e' '%s' '-n'`;
    child.stdin?.end(`set -- ${words}\nprintf '<%s>' "$@"\ncat\nexit 7\n${TAG}\nrest\\n\nof it`);
    expect(await output(child)).toEqual(['<a  b><c\\d><\n\n\ne><%s><-n>rest\\n\nof it', 7]);
  });

  test('that is cut off does not run', async () => {
    for (const script of [FROM_STDIN, fromStdinWithin(20)]) {
      const child = start(shell, script);
      child.stdin?.end(`echo ran\n${TAG}`);
      expect(await output(child)).toEqual(['', 125]);
    }
  });

  test('takes time by the number of its lines, and not by the square of it', async () => {
    const few = await cpuSeconds(shell, 20_000);
    expect(await cpuSeconds(shell, 80_000)).toBeLessThan(8 * few + 0.2);
  });

  test('on a terminal that cannot tell silence is waited for all the same', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'stty-'));
    const log = join(directory, 'log');
    const stty = `#!/bin/sh\necho "$*" >>'${log}'\ncase $1 in -g) echo saved ;; min) exit 1 ;; esac\n`;
    await writeFile(join(directory, 'stty'), stty, { mode: 0o755 });
    try {
      const child = start(shell, FROM_TERMINAL, directory);
      child.stdin?.end(`echo "$sb_tty"\n${TAG}\n`);
      expect(await output(child)).toEqual(['@w\nsaved\n', 0]);
      expect(await readFile(log, 'utf8')).toBe('-g\nraw -echo\nmin 0 time 255\n');
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  test('that never comes is not waited for longer than was said', async () => {
    const child = start(shell, fromStdinWithin(1));
    child.stdin?.write('echo ran\n');
    expect(await output(child)).toEqual(['', 125]);
  });
});
