import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import type { Exit } from '#libs/contract/core';
import { errnoOf } from './errors.js';
import { isForeignFormat } from './program-format.js';

export type Program = { readonly path: string } | { readonly failed: Exit };

/**
 * Finds what a shell would run for `cmd`, and tells a program that is not there (127) from one that cannot be executed
 * (126). The first executable file on PATH wins over others found before it.
 */
export function findProgram(cmd: string, directory: string, path: string): Program {
  const candidates = cmd.includes('/')
    ? [isAbsolute(cmd) ? cmd : resolve(directory, cmd)]
    : path.split(':').map((entry) => join(entry === '' ? directory : resolve(directory, entry), cmd));
  let refused: string | undefined;
  for (const candidate of candidates) {
    const problem = executionProblem(candidate);
    if (problem === undefined) return { path: candidate };
    if (problem !== 'not found') refused ??= problem;
  }
  return { failed: refused === undefined ? notFound(cmd) : notExecutable(cmd, refused) };
}

export function notFound(cmd: string, why = 'not found'): Exit {
  return { exitCode: 127, startError: `${shown(cmd)}: ${why}` };
}

export function notExecutable(cmd: string, why: string): Exit {
  return { exitCode: 126, startError: `${shown(cmd)}: ${why}` };
}

function shown(cmd: string): string {
  return cmd.length > 256 ? `${cmd.slice(0, 256)}…` : cmd;
}

function executionProblem(path: string): string | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (!stats) return 'not found';
    if (stats.isDirectory()) return 'is a directory';
    if (!stats.isFile()) return 'not a regular file';
    accessSync(path, constants.X_OK);
    return isForeignFormat(path) ? 'wrong executable format' : undefined;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ENOENT' || errno === 'ENOTDIR') return 'not found';
    return errno === 'EACCES' || errno === 'EPERM' ? 'permission denied' : `cannot be executed (${errno ?? 'unknown'})`;
  }
}
