import { randomBytes } from 'node:crypto';
import { link, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from './errors.js';
import { identify, isProcessIdentity, stillRuns, type ProcessIdentity } from './process-identity.js';
import type { Root } from './root.js';

/** Another daemon holds the root. */
export class RootLockedError extends Error {
  override readonly name = 'RootLockedError';

  constructor(
    readonly root: string,
    readonly pid: number,
  ) {
    super(`${root} is held by another daemon, process ${pid}`);
  }
}

const GONE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR']);
const LOCK_NAME = /^lock\.(\d+)$/;

/**
 * One daemon per root, without a native flock. Files `lock.<n>` name their makers; the highest n holds the root.
 *
 * Whoever finds the highest released, or its maker dead, links n + 1 into place, which only one can. The highest file
 * is never removed, only marked released, so that a slow starter that judged an older one sees on its second look
 * that it is not the highest. Children inherit nothing: there is no descriptor.
 */
export class RootLock {
  private constructor(
    private readonly root: Root,
    private readonly path: string,
  ) {}

  /** @throws {RootLockedError} */
  static async acquire(root: Root): Promise<RootLock> {
    const own = join(root.runner, `lock-${process.pid}-${randomBytes(8).toString('hex')}`);
    await writeFile(own, JSON.stringify(identify(process.pid)), { flag: 'wx', mode: 0o600 });
    try {
      for (;;) {
        const highest = await highestLock(root);
        const owner = highest === 0 ? undefined : await readOwner(lockPath(root, highest));
        if (owner && stillRuns(owner)) throw new RootLockedError(root.path, owner.pid);
        const path = lockPath(root, highest + 1);
        if (!(await linked(own, path))) continue;
        if ((await highestLock(root)) === highest + 1) {
          await removeOlder(root, highest + 1);
          return new RootLock(root, path);
        }
        await rm(path, { force: true });
      }
    } finally {
      await rm(own, { force: true });
    }
  }

  /** Whether the root still is this one's. It may have been removed, and even made anew by another daemon. */
  async held(): Promise<boolean> {
    return (await readOwner(this.path))?.pid === process.pid;
  }

  /** What is not held any more is released. */
  async release(): Promise<void> {
    if (!(await this.held())) return;
    const released = join(this.root.runner, `lock-${process.pid}-${randomBytes(8).toString('hex')}`);
    await writeFile(released, '{}', { flag: 'wx', mode: 0o600 });
    await rename(released, this.path);
  }
}

function lockPath(root: Root, generation: number): string {
  return join(root.runner, `lock.${generation}`);
}

async function lockGenerations(root: Root): Promise<number[]> {
  const names = await readdir(root.runner);
  return names.flatMap((name) => LOCK_NAME.exec(name)?.[1] ?? []).map(Number);
}

async function highestLock(root: Root): Promise<number> {
  return Math.max(0, ...(await lockGenerations(root)));
}

/** `undefined`: released, or not a record that a daemon wrote whole. One that cannot be read says nothing: it throws. */
async function readOwner(path: string): Promise<ProcessIdentity | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (GONE.has(errnoOf(error))) return undefined;
    throw error;
  }
  try {
    const value: unknown = JSON.parse(text);
    return isProcessIdentity(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function removeOlder(root: Root, holder: number): Promise<void> {
  for (const generation of await lockGenerations(root)) {
    if (generation < holder) await rm(lockPath(root, generation), { force: true });
  }
}
