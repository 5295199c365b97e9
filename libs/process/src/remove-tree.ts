import { chmod, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from './errors.js';

const ATTEMPTS = 3;

/** Removes a directory and everything in it, read-only directories included. Never follows a symlink. */
export async function removeTree(path: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await rm(path, { recursive: true, force: true });
      return;
    } catch (error) {
      const errno = errnoOf(error);
      if (attempt === ATTEMPTS || !(errno === 'EACCES' || errno === 'EPERM' || errno === 'ENOTEMPTY')) throw error;
      await makeRemovable(path);
    }
  }
}

/** Nothing can be removed from a directory that we may not write to. */
async function makeRemovable(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats?.isDirectory()) return;
  if ((stats.mode & 0o700) !== 0o700) await chmod(path, 0o700).catch(() => {});
  for (const entry of await readdir(path).catch(() => [])) await makeRemovable(join(path, entry));
}
