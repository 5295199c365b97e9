import { randomBytes } from 'node:crypto';
import { chmod, lstat, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from './errors.js';

const ATTEMPTS = 3;
const OBSTACLES: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'ENOTEMPTY', 'ENAMETOOLONG']);
/** Bytes, with room for one more name below: macOS takes 1 024, Linux 4 096. */
const LONGEST_PATH = 700;

/** Removes a directory and everything in it, however deep, read-only ones included. Never follows a symlink. */
export async function removeTree(path: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await rm(path, { recursive: true, force: true });
      return;
    } catch (error) {
      if (attempt === ATTEMPTS || !OBSTACLES.has(errnoOf(error))) throw error;
      await makeRemovable(path);
    }
  }
}

/**
 * Nothing can be removed from a directory that we may not write to, nor by a path longer than the system takes:
 * directories that lie so deep are moved to the top.
 */
async function makeRemovable(top: string): Promise<void> {
  const todo = [top];
  for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
    const stats = await lstat(path).catch(() => undefined);
    if (!stats?.isDirectory()) continue;
    if ((stats.mode & 0o700) !== 0o700) await chmod(path, 0o700).catch(() => {});
    const deep = Buffer.byteLength(path) > LONGEST_PATH && path.length > top.length;
    const reachable = deep ? await movedTo(join(top, `.deep-${randomBytes(8).toString('hex')}`), path) : path;
    for (const entry of await readdir(reachable).catch(() => [])) todo.push(join(reachable, entry));
  }
}

async function movedTo(target: string, path: string): Promise<string> {
  return await rename(path, target).then(
    () => target,
    () => path,
  );
}
