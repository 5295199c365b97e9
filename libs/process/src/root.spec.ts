import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openRoot } from './root.js';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'root-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

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
    ['a file', 'file', 'EEXIST'],
    ['below a file', 'file/below', 'ENOTDIR'],
  ])('fails where it cannot be: %s', async (_where, path, code) => {
    await writeFile(join(directory, 'file'), '');
    await expect(openRoot(join(directory, path))).rejects.toMatchObject({ code });
  });

  test('fails at once in a directory that takes no entries', async () => {
    await expect(openRoot('/proc/no-such-process/root')).rejects.toMatchObject({
      code: expect.stringMatching(/^E/),
    });
  });
});
