import { Refusal } from '../kit/answer.js';
import { VM_HEADERS } from './vm.js';

const STATUS: Readonly<Record<string, number>> = { ENOENT: 404, EIO: 500 };
const KNOWN = new Set(['ENOENT', 'EEXIST', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM', 'ENOTEMPTY', 'EINVAL', 'EIO']);

const TEXTS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EEXIST: 'file exists',
  ENOTDIR: 'not a directory',
  EISDIR: 'is a directory',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  ENOTEMPTY: 'directory not empty',
  EINVAL: 'invalid argument',
  EIO: 'input/output error',
};

/** The answer to a call on a file that failed: `{error, code, path}`. */
export function fsFailure(code: string, path: string): Refusal {
  const known = KNOWN.has(code) ? code : 'EIO';
  const json = { error: `${path}: ${TEXTS[known]}`, code: known, path };
  return new Refusal({ status: STATUS[known] ?? 400, headers: VM_HEADERS, json });
}

/** Does something to `path`, and turns what the file system throws into the answer. */
export async function onPath<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || !/^E[A-Z]+$/.test(code)) throw error;
    throw fsFailure(code === 'ELOOP' || code === 'ENAMETOOLONG' ? 'EINVAL' : code, path);
  }
}
