import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { SEARCH_PATH } from '../kit/search-path.js';
import type { Machine } from './machine.js';

const PREFERRED = ['/bin/zsh', '/usr/bin/zsh', '/bin/bash', '/usr/bin/bash'];
/** Variables that name a directory of the sandbox: their values are made to lie there on this machine too. */
const DIRECTORIES: ReadonlySet<string> = new Set(['HOME', 'PWD', 'TMPDIR']);

/** The shell that the daemon takes. */
export function shellPath(chosen: string | undefined): string {
  return chosen ?? PREFERRED.find((path) => existsSync(path)) ?? '/bin/sh';
}

/** The environment of the daemon, which its shells inherit, and what a call adds. */
export function environmentOf(
  { files, request, shell }: Machine,
  more: Readonly<Record<string, string>> = {},
): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {
    PATH: SEARCH_PATH,
    HOME: files.home,
    TMPDIR: files.tmp,
    USER: request.user,
    SHELL: shell,
    LANG: 'C.UTF-8',
  };
  for (const [name, value] of Object.entries({ ...request.env, ...more })) {
    env[name] = DIRECTORIES.has(name) && value.startsWith('/') ? files.locate(value) : value;
  }
  return env;
}

/** Where a command is to run on this machine; `undefined`: there is no such directory. */
export async function directoryOf({ files }: Machine, cwd: unknown): Promise<string | undefined> {
  if (typeof cwd !== 'string' || cwd === '') return files.home;
  try {
    const path = await files.resolve(cwd);
    return (await stat(path)).isDirectory() ? path : undefined;
  } catch {
    return undefined;
  }
}
