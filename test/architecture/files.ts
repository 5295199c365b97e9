import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Texts by path from the root of the repository, with forward slashes: the real ones, or a small example. */
export type Files = ReadonlyMap<string, string>;

const NOT_OURS = new Set(['node_modules', 'dist', 'coverage', '.git']);

/** Everything of the repository but what tools make. */
export function repositoryFiles(): Files {
  return new Map(pathsBelow('.').map((path) => [path, readFileSync(path, 'utf8')]));
}

function pathsBelow(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter(({ name }) => !NOT_OURS.has(name) && !/\.(?:log|tgz)$|^\.setup\.lock/.test(name))
    .flatMap((entry) => {
      const path = join(directory, entry.name);
      return entry.isDirectory() ? pathsBelow(path) : entry.isFile() ? [path] : [];
    });
}

export function example(texts: Record<string, string>): Files {
  return new Map(Object.entries(texts));
}

export function isSpec(path: string): boolean {
  return /[.-]spec\.ts$/.test(path);
}

/** The TypeScript that is built: src, libs and apps without their specs. */
export function sources(files: Files): Files {
  return new Map([...files].filter(([path]) => /^(?:src|libs|apps)\/.*\.ts$/.test(path) && !isSpec(path)));
}

/** All TypeScript, specs and tests included. */
export function typeScript(files: Files): Files {
  return new Map([...files].filter(([path]) => path.endsWith('.ts')));
}
