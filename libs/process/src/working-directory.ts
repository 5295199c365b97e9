import { accessSync, constants, statSync } from 'node:fs';
import { SandboxError } from '#libs/contract/core';
import { errnoOf, invalidArgument } from './errors.js';
import { sandboxPath } from './sandbox-path.js';

/**
 * The directory a command starts in. It may lie outside the sandbox: a process may go anywhere anyway.
 *
 * @throws {SandboxError} `invalid` / `no_such_directory`, `argument`
 */
export function workingDirectory(sandbox: string, dir: string | undefined): string {
  if (dir?.includes('\0')) throw invalidArgument('dir: holds NUL');
  const path = dir ? sandboxPath(sandbox, dir) : sandbox;
  try {
    if (!statSync(path).isDirectory()) throw noSuchDirectory('not a directory');
    accessSync(path, constants.X_OK);
    return path;
  } catch (error) {
    throw error instanceof SandboxError ? error : noSuchDirectory(errnoOf(error));
  }
}

/** Tells one directory from another that took its place; undefined while there is none. */
export function directoryIdentity(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`;
}

/** Says that the directory, not the program, is what is missing. */
export function noSuchDirectory(why = 'missing'): SandboxError {
  return new SandboxError('invalid', {
    detail: 'no_such_directory',
    message: `the working directory cannot be entered: ${why}`,
  });
}
