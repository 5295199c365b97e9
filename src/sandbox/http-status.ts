import type { SandboxError, SandboxErrorCode } from '#libs/contract';

/** The HTTP status that says what a code says. */
export const SANDBOX_HTTP_STATUS: Readonly<Record<SandboxErrorCode, number>> = Object.freeze({
  invalid: 400,
  denied: 403,
  not_found: 404,
  already_exists: 409,
  command_exited: 409,
  rate_limited: 429,
  aborted: 499,
  not_supported: 501,
  provider: 502,
  restore_failed: 502,
  truncated: 502,
  write_failed: 502,
  unavailable: 503,
});

/** The HTTP status for an error; 502 also for a code that only another version of this package knows. */
export function statusOf(error: SandboxError): number {
  return Object.hasOwn(SANDBOX_HTTP_STATUS, error.code) ? SANDBOX_HTTP_STATUS[error.code] : 502;
}
