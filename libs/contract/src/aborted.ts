import type { SandboxEffect } from './error-codes.js';
import { SandboxError } from './sandbox-error.js';

/** What a call rejects with once its signal fired: `cause` is the signal's reason. */
export function abortedError(signal: AbortSignal, effect: SandboxEffect, operation?: string): SandboxError {
  return new SandboxError('aborted', {
    message: operation === undefined ? 'aborted' : `${operation} was aborted`,
    effect,
    cause: signal.reason,
    ...(operation !== undefined && { operation }),
  });
}
