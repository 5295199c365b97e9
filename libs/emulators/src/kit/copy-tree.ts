import { cp, lstat, mkdir } from 'node:fs/promises';

/** Copies what a directory holds, symlinks as they are; without what is no file, such as a pipe. */
export async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await cp(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true, filter: isFile });
}

async function isFile(path: string): Promise<boolean> {
  const stats = await lstat(path);
  return stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
}
