import { execFileSync } from 'node:child_process';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { collect } from '../support/collect.js';
import { refusal, words } from '../support/errors.js';
import { tempDir } from '../support/temp-dir.js';
import { Stage } from './stage.js';

const MiB = 1024 * 1024;

test.each([
  [0o077, '700'],
  [0o000, '755'],
])('bug 68: under umask %i a mode is exact, and only the owner writes to a new directory', async (umask, directory) => {
  const inherited = process.umask(umask);
  const setting = Stage.set();
  await setting.finally(() => process.umask(inherited));
  await using stage = await setting;
  const modeOf = async (path: string): Promise<string> =>
    ((await stat(join(stage.home, path))).mode & 0o7777).toString(8);
  for (const mode of [0o755, 0o600, 0o444]) {
    await stage.app.sandboxes.writeFile(stage.handle, `new/${mode}`, 'x', { mode });
    expect(await modeOf(`new/${mode}`)).toBe(mode.toString(8));
  }
  await stage.app.sandboxes.writeFile(stage.handle, 'new/plain', 'x');
  expect([await modeOf('new/plain'), await modeOf('new')]).toEqual(['644', directory]);
  for (const mode of ['0755', 0o10000, -1, 0o4755, 1.5, Number.NaN] as number[]) {
    expect(await refusal(stage.app.sandboxes.writeFile(stage.handle, 'bad', 'x', { mode }))).toEqual({
      code: 'invalid',
      detail: 'argument',
      effect: 'none',
    });
  }
  expect(await readdir(stage.home)).toEqual(['new']);
});

const disk = await tempDir('disk');
const canMount = mount(disk.path, 'size=24m');
if (canMount) unmount(disk.path);
await disk.remove();

(canMount ? describe : describe.skip)('on a small file system', () => {
  test('bug 40: on a full disk what cannot be kept says so, the daemon lives, and room is enough to go on', async () => {
    const root = await tempDir('root');
    mount(root.path, 'size=24m');
    try {
      await using stage = await Stage.set({ daemon: { root: root.path } });
      const stays = await stage.spawnSh('read line; echo "still $line"; exit 5', { stdin: true });
      const seen = collect(stays);
      const ballast = join(stage.home, 'ballast');
      await writeFile(ballast, Buffer.alloc(12 * MiB));
      const flood = await stage.spawnSh('head -c 50000000 /dev/zero; sleep 3600', { detachable: true });
      await flood.stop();
      const lost = await stage.app.sandboxes
        .attach(stage.handle, flood.sessionId as string, { from: 'now' })
        .then((attached) => attached.drain())
        .catch(words);
      expect(lost).toMatchObject({ code: 'unavailable', detail: 'disk_full' });

      expect(await refusal(stage.app.sandboxes.writeFile(stage.handle, 'big', Buffer.alloc(4 * MiB)))).toMatchObject({
        code: 'write_failed',
        detail: 'disk_full',
      });
      await rm(ballast);
      expect((await stage.sh('echo again')).text()).toBe('again\n');
      await stays.writeStdin('here\n');
      expect([(await seen).stdout.toString(), (await seen).exit]).toEqual(['still here\n', { exitCode: 5 }]);
      expect(stage.daemon.ended).toBeUndefined();
    } finally {
      unmount(root.path);
      await root.remove();
    }
  });
});

/** A small file system of its own, where the machine lets us have one. */
function mount(path: string, options: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function unmount(path: string): void {
  execFileSync('umount', ['-l', path], { stdio: 'ignore' });
}
