import type { SandboxErrorDetail } from './details.js';

/** Every code a {@link SandboxError} can have. */
export const SANDBOX_ERROR_CODES = [
  'not_found',
  'truncated',
  'not_supported',
  'command_exited',
  'rate_limited',
  'unavailable',
  'denied',
  'invalid',
  'restore_failed',
  'write_failed',
  'provider',
  'already_exists',
  'aborted',
] as const;

/** One of {@link SANDBOX_ERROR_CODES}. */
export type SandboxErrorCode = (typeof SANDBOX_ERROR_CODES)[number];

/**
 * Did the remote side act?
 * - `none`: refused before it was sent, a definite refusal of an all-or-nothing operation, or a read-only operation.
 * - `unknown`: handed over, and no valid answer came.
 * - `done`: it happened although the call failed.
 */
export type SandboxEffect = 'none' | 'unknown' | 'done';

/** What a {@link SandboxError} is made from. */
export interface SandboxErrorInit {
  readonly message?: string;
  readonly detail?: SandboxErrorDetail;
  /** @default 'none' for codes that are definite refusals, otherwise 'unknown' (see {@link defaultEffect}). */
  readonly effect?: SandboxEffect;
  /** Milliseconds after which the provider asked to be tried again. */
  readonly retryAfterMs?: number;
  readonly provider?: string;
  readonly operation?: string;
  readonly cause?: unknown;
}

const BRAND = Symbol.for('nestjs-sandbox.SandboxError');

/**
 * The one error class of this package: every rejection of a sandbox operation is one.
 *
 * `instanceof` goes by a brand, so it holds across two copies of the package. A `SandboxError` carries no secret, no
 * environment value and no command output, in any of its properties.
 */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly code: SandboxErrorCode;
  readonly effect: SandboxEffect;
  // Declared only: a field would be there, undefined, in every log of an error that has none.
  declare readonly detail?: SandboxErrorDetail;
  declare readonly retryAfterMs?: number;
  declare readonly provider?: string;
  declare readonly operation?: string;

  constructor(code: SandboxErrorCode, init: SandboxErrorInit = {}) {
    super(
      init.message ?? (init.detail ? `${code}: ${init.detail}` : code),
      'cause' in init ? { cause: init.cause } : {},
    );
    this.code = code;
    this.effect = init.effect ?? defaultEffect(code);
    if (init.detail !== undefined) this.detail = init.detail;
    if (init.retryAfterMs !== undefined) this.retryAfterMs = init.retryAfterMs;
    if (init.provider !== undefined) this.provider = init.provider;
    if (init.operation !== undefined) this.operation = init.operation;
    Object.defineProperty(this, BRAND, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[BRAND] === true;
  }

  /** A copy with some properties replaced; stack and cause are kept. */
  with(changes: SandboxErrorInit): SandboxError {
    const copy = new SandboxError(this.code, {
      message: this.message,
      ...(this.detail !== undefined && { detail: this.detail }),
      effect: this.effect,
      ...(this.retryAfterMs !== undefined && { retryAfterMs: this.retryAfterMs }),
      ...(this.provider !== undefined && { provider: this.provider }),
      ...(this.operation !== undefined && { operation: this.operation }),
      ...('cause' in this && { cause: this.cause }),
      ...changes,
    });
    if (this.stack !== undefined) copy.stack = this.stack;
    return copy;
  }
}

const REFUSALS: ReadonlySet<SandboxErrorCode> = new Set([
  'not_found',
  'not_supported',
  'command_exited',
  'rate_limited',
  'denied',
  'invalid',
  'already_exists',
]);

/** The effect of a code when the thrower says nothing else: definite refusals did nothing, the rest is unknown. */
export function defaultEffect(code: SandboxErrorCode): SandboxEffect {
  return REFUSALS.has(code) ? 'none' : 'unknown';
}
