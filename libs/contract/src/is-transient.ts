import { SandboxError, type SandboxErrorCode } from './sandbox-error.js';

const PERMANENT: ReadonlySet<SandboxErrorCode> = new Set([
  'not_found',
  'truncated',
  'not_supported',
  'already_exists',
  'denied',
  'invalid',
  'restore_failed',
  'aborted',
]);

/**
 * Whether trying again may help: `rate_limited`, `unavailable`, and whatever is not known to be permanent, unknown
 * values included, since only idempotent calls may be wrapped.
 */
export function isTransient(error: unknown): boolean {
  return !(error instanceof SandboxError && PERMANENT.has(error.code));
}
