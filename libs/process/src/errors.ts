import { SandboxError, type SandboxEffect, type SandboxErrorCode } from '#libs/contract/core';

/** The errno name of a failed system call, such as `ENOENT`. */
export function errnoOf(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : undefined;
}

export function isDiskFull(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === 'ENOSPC' || errno === 'EDQUOT';
}

/** A failed system call as a `SandboxError`. The message names the errno only: paths and content may be secret. */
export function systemError(
  code: SandboxErrorCode,
  what: string,
  error: unknown,
  effect: SandboxEffect = 'unknown',
): SandboxError {
  if (error instanceof SandboxError) return error;
  return new SandboxError(code, {
    message: `${what}: ${errnoOf(error) ?? 'failed'}`,
    effect,
    ...(isDiskFull(error) && { detail: 'disk_full' }),
    cause: error,
  });
}

export function invalidArgument(message: string): SandboxError {
  return new SandboxError('invalid', { detail: 'argument', message });
}

export function noSuchSandbox(): SandboxError {
  return new SandboxError('not_found', { message: 'no such sandbox' });
}

/** Its keeper ended before it did: it is gone, and nobody measured how. */
export function sessionLost(): SandboxError {
  const message = 'the daemon that ran the session ended, and the session with it';
  return new SandboxError('unavailable', { detail: 'session_lost', effect: 'none', message });
}

/** The same answer for a session that is not there and for one of another sandbox. */
export function noSuchSession(): SandboxError {
  return new SandboxError('not_found', { message: 'no such session' });
}
