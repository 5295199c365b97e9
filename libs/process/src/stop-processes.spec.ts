import { afterEach, expect, jest, test } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';

/** Counts down at each look at the processes of the machine; below 0 they cannot be looked at. */
let looksLeft = Infinity;

jest.unstable_mockModule('node:fs', () => ({
  ...fs,
  readdirSync: (path: string) => {
    if (path === '/proc') looksLeft -= 1;
    return fs.readdirSync(path);
  },
  readFileSync: (path: string, encoding: BufferEncoding) => {
    if (looksLeft < 0 && path.endsWith('/stat')) throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' });
    return fs.readFileSync(path, encoding);
  },
}));

const { ProcessGroup } = await import('./process-group.js');
const { stopProcesses } = await import('./stop-processes.js');

let leader: ChildProcess;

afterEach(() => {
  looksLeft = Infinity;
  try {
    process.kill(-leader.pid!, 'SIGKILL');
  } catch {
    // As it should be.
  }
});

/** A group, and the process of it that has said that it is ready. */
async function startGroup(script: string) {
  leader = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  const group = new ProcessGroup(leader.pid!, 's-1');
  const exit = once(leader, 'exit').then(([code, signal]: (string | number | null)[]) => {
    group.leaderExited();
    return signal ?? code;
  });
  const member = Number(await once(leader.stdout!, 'data'));
  return { group, exit, member };
}

const scopeOf = (group: InstanceType<typeof ProcessGroup>) => ({ groups: [group], marked: () => false });

/** Resolves when it is at most a zombie: those have no command line. */
async function ended(pid: number): Promise<void> {
  const line = `/proc/${pid}/cmdline`;
  while (fs.existsSync(line) && fs.readFileSync(line).length > 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
}

test('where processes cannot be looked at, one that ignores TERM is killed all the same', async () => {
  const { group, exit } = await startGroup("trap '' TERM; echo $$; while :; do sleep 1; done");
  looksLeft = 0;
  await expect(stopProcesses(scopeOf(group), { graceMs: 50 })).rejects.toMatchObject({ code: 'unavailable' });
  expect(await exit).toBe('SIGKILL');
});

test('where processes cannot be looked at, one that acts on TERM has the time to', async () => {
  const { group, exit } = await startGroup("trap 'sleep 0.1; exit 3' TERM; echo $$; while :; do sleep 0.01; done");
  looksLeft = 0;
  await expect(stopProcesses(scopeOf(group), { graceMs: 30_000 })).rejects.toMatchObject({ code: 'unavailable' });
  expect(await exit).toBe(3);
});

test('what its leader left behind is killed too when it cannot be looked at any more', async () => {
  const { group, exit, member } = await startGroup(
    "(trap '' TERM; sh -c 'echo $PPID'; while :; do sleep 1; done) & wait",
  );
  looksLeft = 1;
  await expect(stopProcesses(scopeOf(group), { graceMs: 30_000 })).rejects.toMatchObject({ code: 'unavailable' });
  expect(await exit).toBe('SIGTERM');
  await ended(member);
});
