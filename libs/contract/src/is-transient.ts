import { traitsOf } from './error-codes.js';
import { SandboxError } from './sandbox-error.js';

/**
 * Whether trying again may help: `rate_limited`, `unavailable`, and whatever is not known to be permanent, unknown
 * values included, since only idempotent calls may be wrapped.
 */
export function isTransient(error: unknown): boolean {
  return !(error instanceof SandboxError) || (traitsOf(error.code)?.transient ?? true);
}
