import { constants } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import { SandboxError } from '#libs/contract/core';
import { errnoOf } from './errors.js';

/** More symlinks on one way than this are a loop, as Linux has it. */
const MAX_SYMLINKS = 40;

interface OpenDirectory {
  readonly path: string;
  readonly handle: FileHandle;
}

/** The directory that a file is in, held open, and the file's name in it. */
export interface ConfinedPath {
  readonly name: string;
  /** A path to an entry of that directory that no swapped symlink can divert (on macOS: see `verify`). */
  at(name: string): string;
  /** Where directories cannot be addressed by descriptor: whether the directory is still where it was. */
  verify(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Walks from `base` to a file, one component at a time and without following: each directory is opened relative to the
 * one before, so nothing that is swapped meanwhile leads outside. Symlinks that stay inside are walked like paths,
 * that of the file itself included. Missing directories are made, and stay even if it fails after all.
 *
 * @throws {SandboxError} `invalid` / `path_outside_sandbox`; otherwise what the file system throws
 */
export async function openConfined(base: string, path: string, made: () => void): Promise<ConfinedPath> {
  const stack: OpenDirectory[] = [];
  const close = async () => {
    await Promise.all(stack.splice(0).map(async ({ handle }) => await handle.close()));
  };
  try {
    stack.push(await openDirectory(base, base));
    const name = await walk(stack, { base, made }, componentsBelow(base, path));
    const directory = stack.at(-1)!;
    return { name, at: (entry) => at(directory, entry), verify: async () => await verify(directory), close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Walk {
  readonly base: string;
  /** Called for each directory that was made. */
  readonly made: () => void;
}

/** @returns the last component, which is no symlink */
async function walk(stack: OpenDirectory[], { base, made }: Walk, todo: string[]): Promise<string> {
  let symlinks = 0;
  for (;;) {
    const name = todo.shift();
    // A symlink to a directory can end the walk without a name left.
    if (name === undefined) throw Object.assign(new Error('is a directory'), { code: 'EISDIR' });
    if (name === '.' || name === '') continue;
    if (name === '..') {
      if (stack.length === 1) throw outside();
      await stack.pop()!.handle.close();
      continue;
    }
    const entry = at(stack.at(-1)!, name);
    const target = await symlinkTarget(entry);
    if (target !== undefined) {
      symlinks += 1;
      if (symlinks > MAX_SYMLINKS) throw Object.assign(new Error('too many symlinks'), { code: 'ELOOP' });
      if (isAbsolute(target)) {
        todo.unshift(...componentsBelow(base, target));
        await Promise.all(stack.splice(1).map(async ({ handle }) => await handle.close()));
      } else todo.unshift(...target.split('/'));
    } else if (todo.length === 0) return name;
    else stack.push(await enter(stack.at(-1)!, name, made));
  }
}

async function enter(parent: OpenDirectory, name: string, made: () => void): Promise<OpenDirectory> {
  const entry = at(parent, name);
  const path = join(parent.path, name);
  try {
    return await openDirectory(entry, path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
  await mkdir(entry, { mode: 0o755 }).then(made, (error: unknown) => {
    if (errnoOf(error) !== 'EEXIST') throw error;
  });
  return await openDirectory(entry, path);
}

async function openDirectory(entry: string, path: string): Promise<OpenDirectory> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  return { path, handle: await open(entry, flags) };
}

function at(directory: OpenDirectory, name: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${directory.handle.fd}/${name}` : join(directory.path, name);
}

async function verify(directory: OpenDirectory): Promise<void> {
  if (process.platform === 'linux') return;
  if ((await realpath(directory.path)) !== directory.path) throw outside();
}

async function symlinkTarget(entry: string): Promise<string | undefined> {
  try {
    return (await lstat(entry)).isSymbolicLink() ? await readlink(entry) : undefined;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function componentsBelow(base: string, path: string): string[] {
  const below = relative(base, path);
  if (below === '..' || below.startsWith('../') || isAbsolute(below)) throw outside();
  return below.split('/');
}

function outside(): SandboxError {
  return new SandboxError('invalid', { detail: 'path_outside_sandbox', message: 'the path leads out of the sandbox' });
}
