import { SandboxError } from '#libs/contract';

/** Failures before a request was sent: finding the host, connecting, TLS. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'EPROTO',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'HOSTNAME_MISMATCH',
]);
const TLS = /^(?:ERR_TLS_|ERR_SSL_|CERT_)/;

/**
 * A request that got no answer: effect `none` when it is certain that it was not sent, else `unknown`. The thrown error
 * is kept as `cause`; of it the message repeats the code only.
 */
export function transportError(thrown: unknown): SandboxError {
  const codes = [...codesOf(thrown, 0)];
  const never = codes.length > 0 && codes.every((code) => NEVER_SENT.has(code) || TLS.test(code));
  return new SandboxError('unavailable', {
    effect: never ? 'none' : 'unknown',
    message: `the provider could not be reached${codes.length > 0 ? ` (${[...new Set(codes)].join(', ')})` : ''}`,
    cause: thrown,
  });
}

/** Of the innermost errors, since the outer ones only pass them on. */
function* codesOf(error: unknown, depth: number): Generator<string> {
  if (typeof error !== 'object' || error === null || depth > 5) return;
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) {
    for (const one of errors) yield* codesOf(one, depth + 1);
    return;
  }
  const inner = [...codesOf(cause, depth + 1)];
  if (inner.length > 0) yield* inner;
  else if (typeof code === 'string') yield code;
}
