import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { constants, openSync, rmSync, mkdtempSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JournalWriter } from './journal-writer.js';
import type { SessionEnd } from './keeper.js';
import { KEEPER_LIMITS } from './limits.js';
import { OutputPipe } from './output-pipe.js';
import { Session } from './session.js';

let directory: string;
let fifo: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'output-pipe-'));
  fifo = join(directory, 'fifo');
  execFileSync('mkfifo', [fifo]);
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A descriptor of a pipe on which every read fails, while the pipe itself is sound. */
function unreadable(): number {
  const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(fifo, constants.O_WRONLY);
  new OutputPipe(reader, { data: () => {}, end: () => {}, error: () => {} }).destroy();
  return writer;
}

describe('a pipe that cannot be read', () => {
  test('says so before its end', async () => {
    const said: string[] = [];
    let pipe: OutputPipe | undefined;
    await new Promise<void>((resolve) => {
      pipe = new OutputPipe(unreadable(), {
        data: () => said.push('data'),
        error: ({ message }) => said.push(message),
        end: () => resolve(void said.push('end')),
      });
    });
    expect(pipe?.ended).toBe(true);
    expect(said).toEqual([expect.stringMatching(/^read /), 'end']);
  });

  test.each([
    ['while the process runs', 'sleep 60'],
    ['though the process exits 0', 'exit 0'],
  ])('ends the session with an error, never an exit: %s', async (_case, script) => {
    const child: ChildProcess = spawn('sh', ['-c', script], { stdio: 'ignore', detached: true });
    const exited = once(child, 'exit');
    const ends: (SessionEnd | undefined)[] = [];
    const spec = { sandbox: 'box', cmd: 'sh', args: [], env: [] };
    const journal = new JournalWriter(join(directory, 'journal'), KEEPER_LIMITS.segmentBytes);
    const session = new Session('s-1', spec, journal, KEEPER_LIMITS, {
      grew: () => {},
      ended: ({ tail }) => ends.push(tail.ended),
      quiet: () => {},
    });
    session.run({ process: child, pid: child.pid as number, stdout: unreadable() });
    await session.finished;
    await exited;
    expect(ends).toEqual([{ lost: 'journal_failed' }]);
    session.release();
  });
});
