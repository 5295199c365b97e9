import { SandboxError, type Exit, type SandboxEffect } from 'nestjs-sandbox/contract';

/** The name that the system gave its error, such as `ENOENT`; none of what is no error of the system. */
export function errnoOf(error: unknown): string | undefined {
  const { errno, code } = error as NodeJS.ErrnoException;
  return typeof errno === 'number' ? code : undefined;
}

/** What a failed system call is to the caller, wherever it means nothing more particular. */
export function failure(cause: unknown, effect: SandboxEffect): SandboxError {
  const errno = errnoOf(cause) ?? 'an unexpected error';
  const code = errno === 'EACCES' || errno === 'EPERM' ? 'denied' : 'unavailable';
  return new SandboxError(code, { effect, message: `this machine answered ${errno}`, cause });
}

/**
 * How a program ended that did not start, as a shell would tell it.
 *
 * @throws {SandboxError} where it is not the program that is to blame: nothing is known of it then
 */
export function startFailure(error: unknown): Exit {
  switch (errnoOf(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return { exitCode: 127, startError: 'not found' };
    case 'EACCES':
      return { exitCode: 126, startError: 'cannot be executed' };
    case 'E2BIG':
      throw new SandboxError('invalid', { detail: 'argument_list_too_long', cause: error });
    default:
      throw failure(error, 'none');
  }
}
