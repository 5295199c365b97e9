import type { Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { octal, type FsCall } from './fs-call.js';
import { fsFailure, onPath } from './fs-failure.js';

interface Entry {
  readonly name: string;
  readonly path: string;
  readonly [field: string]: unknown;
}

/** `GET /fs/list`: the entries of a directory, or a file as the only one. */
export async function listFiles(call: FsCall): Promise<void> {
  const path = call.path();
  const entries = await onPath(path, async () => await entriesAt(call, path));
  const pattern = call.text('pattern');
  const shown = pattern === undefined ? entries : entries.filter(({ name }) => globOf(pattern).test(name));
  await call.answer({ path, count: shown.length, entries: shown });
}

async function entriesAt(call: FsCall, path: string): Promise<Entry[]> {
  const target = await call.locate(path);
  const stats = await lstat(target);
  if (!stats.isDirectory()) return [entry(path, stats)];
  if (path.includes('\0')) throw fsFailure('EINVAL', path);
  const found: Entry[] = [];
  const todo = [{ path, target }];
  for (let at = todo.shift(); at; at = todo.shift()) {
    for (const name of (await readdir(at.target)).toSorted()) {
      const child = { path: join(at.path, name), target: join(at.target, name) };
      const childStats = await lstat(child.target);
      found.push(entry(child.path, childStats));
      if (childStats.isDirectory() && call.flag('recursive')) todo.push(child);
    }
  }
  return found;
}

function entry(path: string, stats: Stats): Entry {
  return {
    name: basename(path),
    path,
    type: typeOf(stats),
    size: stats.size,
    mode: octal(stats.mode),
    modTime: stats.mtime.toISOString(),
    isDir: stats.isDirectory(),
  };
}

/** `*` and `?`, as a shell has them. */
function globOf(pattern: string): RegExp {
  const source = pattern.replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${source.replaceAll('*', '.*').replaceAll('?', '.')}$`);
}

function typeOf(stats: Stats): string {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'symlink' : 'other';
}
