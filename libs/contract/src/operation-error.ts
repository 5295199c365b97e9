import { abortedError } from './aborted.js';
import { SandboxError } from './sandbox-error.js';

const MAX_PATH_CHARACTERS = 256;

/** Which call an error belongs to. */
export interface OperationContext {
  readonly provider: string;
  readonly operation: string;
  /** A call that changes nothing has effect `none` however it fails. @default false */
  readonly readOnly?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Of a call about a file, as the caller gave it. Messages name no path, since those are handed to others. */
  readonly path?: unknown;
}

/**
 * What a call rejects with, whatever was thrown inside it: a `SandboxError` that names the provider and the call that
 * the caller made. Anything else than a `SandboxError` becomes `provider`, or `aborted` after the signal fired; it is
 * kept as `cause` and its message, which may hold anything, is not repeated.
 */
export function operationError(thrown: unknown, context: OperationContext): SandboxError {
  const { provider, operation, readOnly = false, signal } = context;
  const path = shownPath(context.path);
  if (thrown instanceof SandboxError) {
    const effect = readOnly ? 'none' : thrown.effect;
    const same = thrown.provider !== undefined && thrown.operation === operation && thrown.effect === effect;
    if (same && thrown.path === path) return thrown;
    return thrown.with({ provider: thrown.provider ?? provider, operation, effect, path });
  }
  const effect = readOnly ? 'none' : 'unknown';
  if (signal?.aborted) return abortedError(signal, effect, operation).with({ provider, path });
  return new SandboxError('provider', {
    message: `${operation} failed with an unexpected ${thrown instanceof Error ? thrown.name : typeof thrown}`,
    provider,
    operation,
    effect,
    path,
    cause: thrown,
  });
}

/** Control characters, what turns the direction of text, and halves of characters. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** In one line, and no longer than the longest that is shown. */
function shownPath(path: unknown): string | undefined {
  if (typeof path !== 'string') return undefined;
  const escaped = path.slice(0, MAX_PATH_CHARACTERS + 1).replace(UNPRINTABLE, escape);
  if (escaped.length <= MAX_PATH_CHARACTERS) return escaped;
  return `${escaped.slice(0, MAX_PATH_CHARACTERS - 1).toWellFormed()}…`;
}

function escape(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}
