import type { Stats } from 'node:fs';
import { lstat, mkdir, readdir, readlink, rename, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { removeTree } from '#libs/process';
import { ConnectFailure, unary, written, type Message } from './connect-protocol.js';
import { rpcUser } from './envd-auth.js';
import type { EnvdRoute } from './envd-route.js';
import type { UserFiles } from './user-files.js';

type Call = (files: UserFiles, message: Message) => Promise<Message>;

const CALLS: Readonly<Record<string, Call>> = {
  Stat: async (files, { path }) => ({
    entry: await entryOf(files, text(path), await files.resolve(text(path), false)),
  }),
  MakeDir: makeDirectory,
  ListDir: listDirectory,
  Move: async (files, { source, destination }) => {
    const [from, to] = [await files.resolve(text(source), false), await files.resolve(text(destination), false)];
    await lstat(from);
    await files.disk.change(() => mkdir(dirname(to), { recursive: true }));
    await rename(from, to);
    return { entry: await entryOf(files, text(destination), to) };
  },
  Remove: async (files, { path }) => {
    const target = await files.resolve(text(path), false);
    if (target === files.disk.directory) throw new ConnectFailure('internal', 'error removing file or directory: busy');
    await removeTree(target);
    return {};
  },
};

/** Without the watchers, which no adapter needs. */
export const FILESYSTEM_ROUTES: readonly EnvdRoute[] = Object.entries(CALLS).map(([method, call]): EnvdRoute => [
  'POST',
  `/filesystem.Filesystem/${method}`,
  async (exchange, sandbox) => {
    await unary(exchange, async (message) => {
      const files = rpcUser(sandbox, exchange);
      return written(await call(files, message).catch(failure), sandbox.settings);
    });
  },
]);

async function makeDirectory(files: UserFiles, { path }: Message): Promise<Message> {
  const target = await files.resolve(text(path));
  const there = await stat(target).catch(() => undefined);
  if (there?.isDirectory()) throw new ConnectFailure('already_exists', `directory already exists: ${text(path)}`);
  if (there)
    throw new ConnectFailure('invalid_argument', `path already exists but it is not a directory: ${text(path)}`);
  await files.disk.change(() => mkdir(target, { recursive: true }));
  return { entry: await entryOf(files, text(path), target) };
}

async function listDirectory(files: UserFiles, { path, depth }: Message): Promise<Message> {
  const root = await files.resolve(text(path));
  if (!(await stat(root)).isDirectory()) {
    throw new ConnectFailure('invalid_argument', `path is not a directory: ${text(path)}`);
  }
  const entries: Message[] = [];
  const deepest = Number(depth) || 1;
  const todo = [{ name: files.nameOf(text(path)), at: root, level: 1 }];
  for (let next = todo.shift(); next; next = todo.shift()) {
    for (const child of (await readdir(next.at)).toSorted()) {
      const [name, at] = [join(next.name, child), join(next.at, child)];
      const entry = await entryOf(files, name, at).catch(() => undefined);
      if (!entry) continue;
      entries.push(entry);
      const below = entry['type'] === 'FILE_TYPE_DIRECTORY' && next.level < deepest;
      if (below) todo.push({ name, at, level: next.level + 1 });
    }
  }
  return { entries };
}

async function entryOf(files: UserFiles, path: string, target: string): Promise<Message> {
  const stats = await lstat(target);
  const name = files.nameOf(path);
  return {
    name: basename(name),
    type: typeOf(stats),
    path: name,
    size: String(stats.size),
    mode: stats.mode & 0o7777,
    permissions: permissionsOf(stats),
    owner: files.user,
    group: files.user,
    modifiedTime: stats.mtime.toISOString(),
    ...(stats.isSymbolicLink() && { symlinkTarget: files.disk.nameOf(await readlink(target)) }),
  };
}

function typeOf(stats: Stats): string {
  if (stats.isDirectory()) return 'FILE_TYPE_DIRECTORY';
  return stats.isSymbolicLink() ? 'FILE_TYPE_SYMLINK' : 'FILE_TYPE_FILE';
}

function permissionsOf(stats: Stats): string {
  const kind = stats.isDirectory() ? 'd' : stats.isSymbolicLink() ? 'L' : '-';
  const bits = 'rwxrwxrwx'.split('').map((letter, at) => (stats.mode & (1 << (8 - at)) ? letter : '-'));
  return kind + bits.join('');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function failure(error: unknown): never {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof ConnectFailure || code === undefined) throw error;
  if (code === 'ENOENT') throw new ConnectFailure('not_found', `path not found: ${message}`);
  throw new ConnectFailure(code === 'ENOTDIR' ? 'invalid_argument' : 'internal', message);
}
