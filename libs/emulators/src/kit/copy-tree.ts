import { cp, mkdir } from 'node:fs/promises';

/** Copies what a directory holds, symlinks as they are. */
export async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await cp(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}
