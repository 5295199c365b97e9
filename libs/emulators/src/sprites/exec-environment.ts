import { stat } from 'node:fs/promises';
import { SEARCH_PATH } from '../kit/search-path.js';
import type { SandboxDisk } from '../kit/sandbox-disk.js';
import type { ExecRequest } from './exec-request.js';
import type { SpritesAlternatives } from './alternatives.js';

/** Variables that name a directory of the sandbox: their values are made to lie there on this machine too. */
const DIRECTORIES: ReadonlySet<string> = new Set(['HOME', 'PWD', 'TMPDIR']);

/** The environment of a command. HOME and TMPDIR are those of the sandbox, however they are given. */
export function execEnvironment(
  request: ExecRequest,
  disk: SandboxDisk,
  sprite: Readonly<Record<string, string>> | undefined,
  { env }: Pick<SpritesAlternatives, 'env'>,
): NodeJS.ProcessEnv {
  const defaults = { PATH: SEARCH_PATH, HOME: disk.home, TMPDIR: disk.tmp, USER: 'sprite', LANG: 'C.UTF-8', ...sprite };
  const result: NodeJS.ProcessEnv = request.env.length === 0 || env === 'adds' ? { ...defaults } : {};
  for (const [name, value] of request.env) {
    result[name] = DIRECTORIES.has(name) && value.startsWith('/') ? disk.locate(value) : value;
  }
  return result;
}

/** The working directory on this machine; `undefined`: it is not there and that matters. */
export async function execDirectory(
  { dir }: ExecRequest,
  disk: SandboxDisk,
  { missingDirectory }: Pick<SpritesAlternatives, 'missingDirectory'>,
): Promise<string | undefined> {
  if (dir === undefined) return disk.home;
  return (await directoryAt(dir, disk)) ?? (missingDirectory === 'ignored' ? disk.home : undefined);
}

async function directoryAt(dir: string, disk: SandboxDisk): Promise<string | undefined> {
  try {
    const path = await disk.resolve(dir);
    return (await stat(path)).isDirectory() ? path : undefined;
  } catch {
    return undefined;
  }
}
