import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openRoot } from './root.js';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'root-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** Nothing is closed to the superuser. */
async function asNobody(work: () => Promise<void>): Promise<void> {
  const superuser = process.geteuid!() === 0;
  if (superuser) process.seteuid!(65_534);
  try {
    await work();
  } finally {
    if (superuser) process.seteuid!(0);
  }
}

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe('openRoot', () => {
  test('makes what is missing, parents included, for nobody else', async () => {
    const path = join(directory, 'a', 'b');
    const root = await openRoot(path);
    expect(await Promise.all([path, root.runner, root.sessions].map(modeOf))).toEqual([0o700, 0o700, 0o700]);
  });

  test('takes an empty directory, and closes it to others', async () => {
    await chmod(directory, 0o755);
    await openRoot(directory);
    expect(await modeOf(directory)).toBe(0o700);
  });

  test('takes a root again, whatever lies in it', async () => {
    await openRoot(directory);
    await mkdir(join(directory, 'sandbox'));
    await chmod(directory, 0o755);
    await openRoot(directory);
    expect(await modeOf(directory)).toBe(0o700);
  });

  test('refuses a directory of somebody else, and leaves it as it is', async () => {
    await writeFile(join(directory, 'notes'), '');
    await chmod(directory, 0o755);
    await expect(openRoot(directory)).rejects.toMatchObject({ code: 'unavailable', effect: 'none' });
    expect([await modeOf(directory), await readdir(directory)]).toEqual([0o755, ['notes']]);
  });

  test.each([
    ['a file', 'file', 'something that is no directory has its name: EEXIST'],
    ['below a file', 'file/below', 'a part of its path is no directory: ENOTDIR'],
    ['a dangling symlink', 'dangling', 'no directory can be made there: ENOENT'],
    ['below a directory that takes no entries', '/proc/no-such-process/root', 'no directory can be made there: ENOENT'],
    ['with a file as its .runner', 'broken', 'something that is no directory has its name: EEXIST'],
  ])('says why it cannot be: %s', async (_where, path, message) => {
    await writeFile(join(directory, 'file'), '');
    await symlink('nowhere', join(directory, 'dangling'));
    await mkdir(join(directory, 'broken'));
    await writeFile(join(directory, 'broken', '.runner'), '');
    await expect(openRoot(resolve(directory, path))).rejects.toMatchObject({
      code: 'unavailable',
      effect: 'none',
      message,
    });
  });

  test('says that it may not be made by a user who may not', async () => {
    await mkdir(join(directory, 'closed'));
    await chmod(join(directory, 'closed'), 0o555);
    await chmod(directory, 0o755);
    await asNobody(async () => {
      await expect(openRoot(join(directory, 'closed', 'root'))).rejects.toMatchObject({
        code: 'unavailable',
        message: 'the user of the daemon may not make it, or not write in it: EACCES',
      });
    });
  });
});
