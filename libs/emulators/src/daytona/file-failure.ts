import { Refusal } from '../kit/answer.js';
import { BareFailure, DaemonFailure } from './daemon-failure.js';
import type { DaytonaAlternatives } from './alternatives.js';

/** Status and code of what the file system throws. */
const KNOWN: Readonly<Record<string, readonly [status: number, code: string, text: string]>> = {
  ENOENT: [404, 'FILE_NOT_FOUND', 'no such file or directory'],
  ENOTDIR: [404, 'FILE_NOT_FOUND', 'not a directory'],
  EACCES: [403, 'FILE_ACCESS_DENIED', 'permission denied'],
  EPERM: [403, 'FILE_ACCESS_DENIED', 'operation not permitted'],
  EISDIR: [400, 'INVALID_FILE_PATH', 'is a directory'],
  EEXIST: [409, 'CONFLICT', 'file exists'],
  EINVAL: [400, 'INVALID_FILE_PATH', 'invalid argument'],
  ENAMETOOLONG: [400, 'INVALID_FILE_PATH', 'file name too long'],
  ELOOP: [400, 'INVALID_FILE_PATH', 'too many levels of symbolic links'],
};

/** The old daemon tells the status of a failure and nothing else. */
export function fileFailure(code: string, path: string, daemon: DaytonaAlternatives['daemon']): Error {
  const [status, name, text] = KNOWN[code] ?? [500, 'FILE_READ_FAILED', 'input/output error'];
  if (daemon === 'v0.190') return new BareFailure({ status });
  return new DaemonFailure(status, `${path}: ${text}`, name);
}

/** Does something to `path`, and turns what the file system throws into the answer. */
export async function onPath<T>(
  path: string,
  daemon: DaytonaAlternatives['daemon'],
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const own = error instanceof DaemonFailure || error instanceof BareFailure || error instanceof Refusal;
    if (own || code === undefined || !/^E[A-Z]+$/.test(code)) throw error;
    throw fileFailure(code, path, daemon);
  }
}
