import { SandboxError } from '#libs/contract';
import { notSupported } from './not-supported.js';

// What a session that runs under the shim can end with beside an exit, and what is refused of one.

export function closedBeforeExit(cause?: unknown): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'closed_before_exit',
    effect: 'unknown',
    message: 'the output ended and no exit came',
    ...(cause !== undefined && { cause }),
  });
}

export function sessionLost(): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'session_lost',
    effect: 'unknown',
    message: 'the session is gone, and nothing tells how it ended',
  });
}

export function streamGap(stream: string): SandboxError {
  return new SandboxError('provider', {
    detail: 'stream_gap',
    effect: 'unknown',
    message: `bytes of ${stream} are missing`,
  });
}

export function journalFailed(): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'journal_failed',
    effect: 'unknown',
    message: 'the output could not be kept in the sandbox, perhaps because its disk is full',
  });
}

export function noSuchDirectory(): SandboxError {
  return new SandboxError('invalid', {
    detail: 'no_such_directory',
    effect: 'none',
    message: 'dir: there is no such directory',
  });
}

export function noSession(): SandboxError {
  return new SandboxError('not_found', { effect: 'none', message: 'there is no such session in this sandbox' });
}

export function beyondEnd(): SandboxError {
  return new SandboxError('invalid', {
    detail: 'offset_beyond_end',
    effect: 'none',
    message: 'from: the session has not printed so much',
  });
}

export function notRecorded(): SandboxError {
  return new SandboxError('truncated', {
    detail: 'replay_evicted',
    effect: 'none',
    message: "nobody keeps the output of a terminal: only from: 'now' can be attached",
  });
}

export function malformedWord(): SandboxError {
  return new SandboxError('provider', {
    detail: 'malformed_frame',
    effect: 'unknown',
    message: 'the shim in the sandbox said something else than was asked',
  });
}

export function commandExited(): SandboxError {
  return new SandboxError('command_exited', { effect: 'none', message: 'the command has exited' });
}

export function stdinNotOpen(message: string): SandboxError {
  return new SandboxError('invalid', { detail: 'stdin_not_open', effect: 'none', message });
}

/** It can be listed, and no more. */
export function foreignSession(): SandboxError {
  return notSupported('the session was not started by this library: it cannot be attached or terminated');
}
