import { SandboxError, invalidArgument } from '#libs/contract';

// What a fake machine refuses.

export function noSandbox(name: string): SandboxError {
  return new SandboxError('not_found', { message: `there is no sandbox '${name}'` });
}

export function noSession(id: string): SandboxError {
  return new SandboxError('not_found', { message: `there is no session '${id}' in this sandbox` });
}

export function noCheckpoint(): SandboxError {
  return new SandboxError('not_found', { message: 'there is no such checkpoint of this sandbox' });
}

export function noPath(what: string): SandboxError {
  return new SandboxError('not_found', { message: `there is no such ${what}` });
}

export function noDirectory(): SandboxError {
  return new SandboxError('invalid', { detail: 'no_such_directory', message: 'dir: there is no such directory' });
}

export function notWritten(why: string): SandboxError {
  return new SandboxError('write_failed', { effect: 'none', message: `the file was not written: ${why}` });
}

export function exited(): SandboxError {
  return new SandboxError('command_exited', { message: 'the command has exited' });
}

/** The command lives, and closed its stdin. */
export function brokenPipe(): SandboxError {
  return new SandboxError('write_failed', { effect: 'none', message: 'the command has closed its stdin' });
}

export function stdinRefused(detail: 'stdin_not_open' | 'stdin_closed', message: string): SandboxError {
  return new SandboxError('invalid', { detail, message });
}

export function beyondEnd(): SandboxError {
  return new SandboxError('invalid', { detail: 'offset_beyond_end', message: 'from: beyond the end of the output' });
}

/** How a stream ends whose transport closed before the exit arrived. */
export function closedBeforeExit(): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'closed_before_exit',
    effect: 'unknown',
    message: 'the output ended without an exit',
  });
}

export function sessionLost(): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'session_lost',
    effect: 'unknown',
    message: 'whether the process is gone cannot be told',
  });
}

/** @param gone whether nothing of the command is left */
export function timedOut(timeoutMs: number | undefined, gone: boolean): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'timeout',
    effect: gone ? 'done' : 'unknown',
    message: timeoutMs === undefined ? 'the command ran too long' : `the command ran longer than ${timeoutMs} ms`,
  });
}

/** @param gone whether nothing of the command is left */
export function outputLimit(gone: boolean): SandboxError {
  return new SandboxError('truncated', {
    detail: 'output_limit',
    effect: gone ? 'done' : 'unknown',
    message: 'the command wrote more than its limit',
  });
}

export function offline(): SandboxError {
  return new SandboxError('unavailable', { effect: 'none', message: 'the fake provider was told to be offline' });
}

/** A source that fails before anything was handed over leaves no trace. */
export function sourceFailed(error: unknown): SandboxError {
  return invalidArgument('content: its source failed').with({ cause: error });
}
