import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, rename, rm } from 'node:fs/promises';
import type { SandboxEffect } from '#libs/contract/core';
import { openConfined, type ConfinedPath } from './confined-path.js';
import { errnoOf, invalidArgument, systemError } from './errors.js';
import { sandboxPath } from './sandbox-path.js';

const DEFAULT_MODE = 0o644;
/** Bytes: no program could open what lies at a longer one. */
const LONGEST_PATH = 4_096;

/**
 * Writes a file of a sandbox whole or not at all. Without `mode` an existing file keeps its own and a new one gets
 * 0644; either is exact, whatever the umask. A symlink to a file inside is written through; one that leads outside is
 * refused.
 *
 * @throws {SandboxError} `invalid` / `argument`, `path_outside_sandbox`; `write_failed`, also with `disk_full`; effect
 *   `none`: nothing was made, not even a directory
 */
export async function writeSandboxFile(sandbox: string, path: string, data: Uint8Array, mode?: number): Promise<void> {
  checkFile(path, mode);
  // The file is all or nothing, its parents are not, and they stay: another write may be using them.
  let effect: SandboxEffect = 'none';
  const left = () => (effect = 'unknown');
  try {
    const target = await openConfined(sandbox, sandboxPath(sandbox, path), left);
    try {
      await replace(target, data, mode, left);
    } finally {
      await target.close();
    }
  } catch (error) {
    throw systemError('write_failed', 'the file could not be written', error).with({ effect });
  }
}

function checkFile(path: string, mode: number | undefined): void {
  if (path === '' || path.includes('\0')) throw invalidArgument('path: is empty or holds NUL');
  if (Buffer.byteLength(path) > LONGEST_PATH) throw invalidArgument(`path: is longer than ${LONGEST_PATH} bytes`);
  if (path.endsWith('/')) throw invalidArgument('path: names a directory');
  // setuid, setgid and sticky bits are not for files that arrive from elsewhere.
  if (mode !== undefined && !(Number.isInteger(mode) && mode >= 0 && mode <= 0o777)) {
    throw invalidArgument('mode: expected an integer from 0 to 0o777');
  }
}

/** @param left called when it fails and something of it could not be removed */
async function replace(
  target: ConfinedPath,
  data: Uint8Array,
  mode: number | undefined,
  left: () => void,
): Promise<void> {
  const keptMode = await existingMode(target);
  const temporary = target.at(`.write-${randomBytes(8).toString('hex')}`);
  await target.verify();
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const file = await open(temporary, flags, 0o600);
  try {
    try {
      await file.writeFile(data);
      await file.chmod(mode ?? keptMode ?? DEFAULT_MODE);
    } finally {
      await file.close();
    }
    await target.verify();
    await rename(temporary, target.at(target.name));
  } catch (error) {
    await rm(temporary, { force: true }).catch(left);
    throw error;
  }
}

async function existingMode(target: ConfinedPath): Promise<number | undefined> {
  try {
    const stats = await lstat(target.at(target.name));
    if (stats.isDirectory()) throw Object.assign(new Error('is a directory'), { code: 'EISDIR' });
    return stats.isFile() ? stats.mode & 0o777 : undefined;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
