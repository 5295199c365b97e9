import type { SandboxErrorDetail } from './details.js';
import { traitsOf, type SandboxEffect, type SandboxErrorCode } from './error-codes.js';

/** What a {@link SandboxError} is made from. */
export interface SandboxErrorInit {
  readonly message?: string;
  readonly detail?: SandboxErrorDetail;
  /** @default that of the code, see {@link SANDBOX_ERROR_CODE_TRAITS}; 'unknown' for one of another version */
  readonly effect?: SandboxEffect;
  /** Milliseconds after which the provider asked to be tried again. */
  readonly retryAfterMs?: number;
  readonly provider?: string;
  readonly operation?: string;
  /** Of a call about a file: its path as the caller gave it, escaped and of bounded length. */
  readonly path?: string;
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
  /** The file that the call was about, as its caller named it: control characters escaped, at most 256 characters. */
  declare readonly path?: string;

  constructor(code: SandboxErrorCode, init: SandboxErrorInit = {}) {
    super(
      init.message ?? (init.detail ? `${code}: ${init.detail}` : code),
      'cause' in init ? { cause: init.cause } : {},
    );
    this.code = code;
    this.effect = init.effect ?? traitsOf(code)?.effect ?? 'unknown';
    if (init.detail !== undefined) this.detail = init.detail;
    if (init.retryAfterMs !== undefined) this.retryAfterMs = init.retryAfterMs;
    if (init.provider !== undefined) this.provider = init.provider;
    if (init.operation !== undefined) this.operation = init.operation;
    if (init.path !== undefined) this.path = init.path;
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
      ...(this.path !== undefined && { path: this.path }),
      ...('cause' in this && { cause: this.cause }),
      ...changes,
    });
    if (this.stack !== undefined) copy.stack = this.stack;
    return copy;
  }
}
