import { SandboxError } from '#libs/contract';

export function runnerOffline(runnerId: string): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'runner_offline',
    effect: 'none',
    message: `runner ${runnerId} is not connected`,
  });
}

export function hostFailed(cause: unknown): SandboxError {
  return new SandboxError('unavailable', { effect: 'none', message: 'the host could not look for the runner', cause });
}

export function noHost(): SandboxError {
  return new SandboxError('not_supported', {
    effect: 'none',
    message: 'there is no RunnerHost: import RunnerModule.forRoot() in the application, or pass one to RunnerAdapter',
  });
}

export function noIncarnation(): SandboxError {
  return new SandboxError('not_found', { effect: 'none', message: 'runners have no sandbox with an instanceId' });
}

export function noPath(): SandboxError {
  return new SandboxError('provider', {
    detail: 'malformed_reply',
    effect: 'none',
    message: 'get: malformed reply: path: expected a string',
  });
}

/** `why` says what the caller knows beyond the deadline. */
export function execTimeout(effect: 'none' | 'unknown', why: string, cause?: unknown): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'timeout',
    effect,
    message: `exec: ${why}`,
    ...(cause !== undefined && { cause }),
  });
}

export function outputLimit(maxOutputBytes: number): SandboxError {
  return new SandboxError('truncated', {
    detail: 'output_limit',
    effect: 'done',
    message: `exec: the command printed more than ${maxOutputBytes} bytes`,
  });
}

/** Whether the runner went away, as opposed to refusing or failing. */
export function isGone(error: unknown): boolean {
  return error instanceof SandboxError && (error.detail === 'runner_offline' || error.detail === 'runner_disconnected');
}
