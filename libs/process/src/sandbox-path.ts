import { isAbsolute, resolve } from 'node:path';

const HOMES = ['~', '/home/sprite'];

/** A path as a caller gives it: `~` and `/home/sprite` at its start mean the sandbox, a relative one lies below it. */
export function sandboxPath(sandbox: string, path: string): string {
  for (const home of HOMES) {
    if (path === home) return sandbox;
    if (path.startsWith(`${home}/`)) return resolve(sandbox, `./${path.slice(home.length + 1)}`);
  }
  return isAbsolute(path) ? resolve(path) : resolve(sandbox, path);
}
