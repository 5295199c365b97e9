import { chmod, chown, cp, lstat, mkdir, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { octal, type FsCall } from './fs-call.js';
import { fsFailure, onPath } from './fs-failure.js';
import { removeTree } from '#libs/process';

export async function deleteFile(call: FsCall): Promise<void> {
  const path = call.path();
  await onPath(path, async () => {
    const target = await call.locate(path, false);
    if (target === call.sprite.disk.directory) throw fsFailure('EPERM', path);
    if (!(await lstat(target)).isDirectory()) await unlink(target);
    else if (call.flag('recursive')) await removeTree(target);
    else await rmdir(target);
  });
  await call.answer({ deleted: [path], count: 1 });
}

export async function renameFile(call: FsCall): Promise<void> {
  const [source, dest] = [call.path('source'), call.path('dest')];
  await onPath(source, async () => {
    await rename(await call.locate(source, false), await call.locate(dest, false));
  });
  await call.answer({ source, dest });
}

export async function copyFile(call: FsCall): Promise<void> {
  const [source, dest] = [call.path('source'), call.path('dest')];
  const totalBytes = await onPath(source, async () => {
    const from = await call.locate(source);
    const to = await call.locate(dest);
    const stats = await lstat(from);
    if (stats.isDirectory() && !call.flag('recursive')) throw fsFailure('EISDIR', source);
    const preserveTimestamps = call.flag('preserveAttrs');
    await call.sprite.change(async () => {
      await mkdir(dirname(to), { recursive: true });
      await cp(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps });
    });
    return stats.isDirectory() ? 0 : stats.size;
  });
  await call.answer({ copied: [{ source, dest }], count: 1, totalBytes });
}

export async function changeMode(call: FsCall): Promise<void> {
  const path = call.path();
  const mode = call.mode();
  if (mode === undefined) throw fsFailure('EINVAL', path);
  const paths = await onPath(path, async () => {
    return await forEach(call, path, async (target) => await chmod(target, mode));
  });
  await call.answer({ affected: paths.map((of) => ({ path: of, mode: octal(mode) })), count: paths.length });
}

export async function changeOwner(call: FsCall): Promise<void> {
  const path = call.path();
  const [uid, gid] = [call.number('uid'), call.number('gid')];
  const paths = await onPath(path, async () => {
    return await forEach(call, path, async (target) => {
      const stats = await lstat(target);
      await chown(target, uid ?? stats.uid, gid ?? stats.gid);
    });
  });
  await call.answer({ affected: paths.map((of) => ({ path: of, uid, gid })), count: paths.length });
}

/** Does it to the path, and below it when that is asked for; symlinks below are left alone. */
async function forEach(call: FsCall, path: string, act: (target: string) => Promise<void>): Promise<string[]> {
  const done: string[] = [];
  const todo = [{ path, target: await call.locate(path) }];
  for (let at = todo.shift(); at; at = todo.shift()) {
    const stats = await lstat(at.target);
    if (stats.isSymbolicLink()) continue;
    await act(at.target);
    done.push(at.path);
    if (!stats.isDirectory() || !call.flag('recursive')) continue;
    for (const name of await readdir(at.target)) {
      todo.push({ path: join(at.path, name), target: join(at.target, name) });
    }
  }
  return done;
}
