import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { FROM_STDIN, fromStdinWithin } from './shim-start.js';

const SHELLS = [['sh'], ['bash'], ['busybox', 'sh']].filter(([shell = '']) => !spawnSync(shell, ['-c', ':']).error);
const TAG = 'the tag';

const open: ChildProcess[] = [];
afterEach(() => {
  for (const child of open.splice(0)) child.kill('SIGKILL');
});

/** A shell that waits for its program. */
function start([shell = '', ...more]: readonly string[], script: string): ChildProcess {
  const child = spawn(shell, [...more, '-c', script, TAG], { stdio: ['pipe', 'pipe', 'ignore'] });
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
    ['for good', FROM_STDIN],
    ['in time', fromStdinWithin(20)],
  ])('that is waited for %s runs as it came, and what follows is its own', async (_, script) => {
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

  test('that never comes is not waited for longer than was said', async () => {
    const child = start(shell, fromStdinWithin(1));
    child.stdin?.write('echo ran\n');
    expect(await output(child)).toEqual(['', 125]);
  });
});
