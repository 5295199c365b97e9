import { abortedError } from './aborted.js';
import { SandboxError } from './sandbox-error.js';

/** Which call an error belongs to. */
export interface OperationContext {
  readonly provider: string;
  readonly operation: string;
  /** A call that changes nothing has effect `none` however it fails. @default false */
  readonly readOnly?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * What a call rejects with, whatever was thrown inside it: a `SandboxError` that names the provider and the call that
 * the caller made. Anything else than a `SandboxError` becomes `provider`, or `aborted` after the signal fired; it is
 * kept as `cause` and its message, which may hold anything, is not repeated.
 */
export function operationError(thrown: unknown, context: OperationContext): SandboxError {
  const { provider, operation, readOnly = false, signal } = context;
  if (thrown instanceof SandboxError) {
    const effect = readOnly ? 'none' : thrown.effect;
    const same = thrown.provider !== undefined && thrown.operation === operation && thrown.effect === effect;
    return same ? thrown : thrown.with({ provider: thrown.provider ?? provider, operation, effect });
  }
  const effect = readOnly ? 'none' : 'unknown';
  if (signal?.aborted) return abortedError(signal, effect, operation).with({ provider });
  return new SandboxError('provider', {
    message: `${operation} failed with an unexpected ${thrown instanceof Error ? thrown.name : typeof thrown}`,
    provider,
    operation,
    effect,
    cause: thrown,
  });
}
