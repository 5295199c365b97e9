import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identify, type ProcessIdentity } from './process-identity.js';
import { RootLock, RootLockedError } from './root-lock.js';
import { openRoot, type Root } from './root.js';

let root: Root;

beforeEach(async () => {
  root = await openRoot(realpathSync(mkdtempSync(join(tmpdir(), 'lock-'))));
});

afterEach(() => rmSync(root.path, { recursive: true }));

const locks = () => readdirSync(root.runner).filter((name) => name.startsWith('lock'));

test('a held root is refused by name, a released one is taken', async () => {
  const first = await RootLock.acquire(root);
  await expect(RootLock.acquire(root)).rejects.toThrow(new RootLockedError(root.path, process.pid));
  await first.release();
  await (await RootLock.acquire(root)).release();
  expect(locks()).toEqual(['lock.2']);
});

test('what has gone, or is held by another, is released', async () => {
  const gone = await RootLock.acquire(root);
  rmSync(root.path, { recursive: true });
  await gone.release();
  await openRoot(root.path);
  const other = JSON.stringify({ ...own, pid: 1 });
  writeFileSync(join(root.runner, 'lock.1'), other);
  await gone.release();
  expect(readFileSync(join(root.runner, 'lock.1'), 'utf8')).toBe(other);
});

test('a starter that judged a lock which is no longer the highest does not hold the root', async () => {
  // Reading it lasts until it is written to, and meanwhile others come and go.
  const slow = join(root.runner, 'lock.4');
  execFileSync('mkfifo', [slow]);
  const starting = RootLock.acquire(root);
  starting.catch(() => {});
  const released = await open(slow, 'w');
  writeFileSync(join(root.runner, 'lock.6'), JSON.stringify(own));
  await released.writeFile('{}');
  await released.close();
  await expect(starting).rejects.toThrow(new RootLockedError(root.path, process.pid));
  expect(readFileSync(join(root.runner, 'lock.6'), 'utf8')).toBe(JSON.stringify(own));
  expect(locks()).not.toContain('lock.5');
});

const own = identify(process.pid)!;
const dead = spawnSync('true').pid;

test.each<[string, Partial<ProcessIdentity> | string]>([
  ['a dead process', { pid: dead }],
  ['a recycled pid', { startTime: '1' }],
  ['another boot', { bootId: 'another' }],
  ['half a record', '{"pid":'],
  ['nothing', ''],
])('a lock of %s does not block', async (_, owner) => {
  const text = typeof owner === 'string' ? owner : JSON.stringify({ ...own, ...owner });
  writeFileSync(join(root.runner, 'lock.4'), text);
  const lock = await RootLock.acquire(root);
  expect(locks()).toEqual(['lock.5']);
  await lock.release();
});

test('a lock of a zombie, which its parent never reaps, does not block', async () => {
  // `sleep` takes the place of the shell, and waits for no child.
  const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600'], { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    while (!column('comm', parent.pid!).endsWith('sleep')) await turn();
    process.kill(pid, 'SIGKILL');
    while (!column('stat', pid).startsWith('Z')) await turn();
    writeFileSync(join(root.runner, 'lock.1'), JSON.stringify(identify(pid)));
    await (await RootLock.acquire(root)).release();
    expect([column('stat', pid)[0], locks()]).toEqual(['Z', ['lock.2']]);
  } finally {
    parent.kill('SIGKILL');
  }
});

const turn = async () => await new Promise((resolve) => setImmediate(resolve));

function column(name: string, pid: number): string {
  return execFileSync('ps', ['-o', `${name}=`, '-p', String(pid)], { encoding: 'latin1' }).trim();
}

test('a lock that cannot be read is not taken for a released one', async () => {
  mkdirSync(join(root.runner, 'lock.4'));
  await expect(RootLock.acquire(root)).rejects.toMatchObject({ code: 'EISDIR' });
  expect(locks()).toEqual(['lock.4']);
});

test('of many that find a stale lock at once exactly one wins, every time', async () => {
  for (let round = 0; round < 50; round += 1) {
    const stale = await Promise.allSettled(Array.from({ length: 8 }, async () => await RootLock.acquire(root)));
    const winners = stale.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(winners).toHaveLength(1);
    const losers = stale.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []));
    expect(losers.every((error) => error instanceof RootLockedError)).toBe(true);
    const [name] = locks();
    writeFileSync(join(root.runner, name!), JSON.stringify({ ...own, pid: dead }));
  }
});
