import { lstatSync } from 'node:fs';
import { chmod, mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SandboxError } from '#libs/contract/core';
import { errnoOf, systemError } from './errors.js';

const RUNNER = '.runner';

/** What an errno means for whoever chose the root. */
const REASONS: Readonly<Record<string, string>> = {
  EEXIST: 'something that is no directory has its name',
  ENOTDIR: 'a part of its path is no directory',
  ENOENT: 'no directory can be made there',
  EACCES: 'the user of the daemon may not make it, or not write in it',
  EPERM: 'the user of the daemon may not make it, or does not own it',
  EROFS: 'the file system is read-only',
};

/** Where things lie under a root. Everything that is not a sandbox is in `.runner`. */
export interface Root {
  readonly path: string;
  readonly runner: string;
  /** One empty file per suspended sandbox. */
  readonly state: string;
  readonly sessions: string;
  readonly trash: string;
  readonly tmp: string;
}

/**
 * Makes the root and `.runner` where they are missing, both 0700 whatever the umask.
 *
 * @throws {SandboxError} `unavailable`: it cannot be made or written, with the reason; or a directory with something in
 *   it that is no root, which is left as it is
 */
export async function openRoot(path: string): Promise<Root> {
  try {
    return await makeRoot(path);
  } catch (error) {
    throw systemError('unavailable', REASONS[errnoOf(error) ?? ''] ?? 'it cannot be used', error, 'none');
  }
}

/**
 * What is missing under a root that is itself not there may be on a disk that was unmounted, which leaves an empty
 * directory: of that nobody can say that it is gone.
 *
 * @throws {SandboxError} `unavailable`
 */
export function checkRoot({ runner }: Root): void {
  try {
    lstatSync(runner);
  } catch (error) {
    throw systemError('unavailable', 'the root is not there', error, 'none');
  }
}

async function makeRoot(path: string): Promise<Root> {
  await makeDirectories(path);
  // Markers in the environment of children and confinement of files compare whole paths.
  const real = await realpath(path);
  const runner = join(real, RUNNER);
  const root: Root = {
    path: real,
    runner,
    state: join(runner, 'state'),
    sessions: join(runner, 'sessions'),
    trash: join(runner, 'trash'),
    tmp: join(runner, 'tmp'),
  };
  await refuseForeign(real);
  await chmod(real, 0o700);
  for (const directory of [runner, root.state, root.sessions, root.trash, root.tmp]) {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await chmod(directory, 0o700);
  }
  return root;
}

/** A home or a system directory, given by mistake, would be closed to everybody else. */
async function refuseForeign(directory: string): Promise<void> {
  const entries = await readdir(directory);
  if (entries.length === 0 || entries.includes(RUNNER)) return;
  throw new SandboxError('unavailable', {
    message: 'it holds files and is no root of a daemon: give a directory that is empty or does not exist',
    effect: 'none',
  });
}

/** As `mkdir -p`. The recursion of Node's own never ends in a directory that takes no entries, as in `/proc`. */
async function makeDirectories(path: string, parents = true): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (errno !== 'ENOENT' || !parents) throw error;
    await makeDirectories(dirname(path));
    await makeDirectories(path, false);
  }
}
