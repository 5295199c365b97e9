/**
 * Did the remote side act?
 * - `none`: refused before it was sent, a definite refusal of an all-or-nothing operation, or a read-only operation.
 * - `unknown`: handed over, and no valid answer came.
 * - `done`: it happened although the call failed.
 */
export type SandboxEffect = 'none' | 'unknown' | 'done';

/** What is true of a code, whatever its detail. */
export interface SandboxErrorCodeTraits {
  /** Whether trying again may help. */
  readonly transient: boolean;
  /** Unless whoever threw knew better: definite refusals did nothing, of the rest it is unknown. */
  readonly effect: SandboxEffect;
  readonly meaning: string;
}

/** Every code that an error can have. Codes are API: they stay, and none is given another meaning. */
export const SANDBOX_ERROR_CODE_TRAITS = {
  not_found: {
    transient: false,
    effect: 'none',
    meaning: 'It is definitely not there. A machine that cannot be reached is `unavailable`.',
  },
  already_exists: { transient: false, effect: 'none', meaning: '`createNew` found the name taken.' },
  invalid: { transient: false, effect: 'none', meaning: 'The call was wrong and nothing was done.' },
  not_supported: { transient: false, effect: 'none', meaning: 'The provider, or this sandbox, lacks the capability.' },
  denied: { transient: false, effect: 'none', meaning: 'The credential is missing, wrong, or not enough.' },
  rate_limited: { transient: true, effect: 'none', meaning: 'Too many calls; `retryAfterMs` where the provider said.' },
  unavailable: {
    transient: true,
    effect: 'unknown',
    meaning: 'It could not be reached, or no valid answer came in time.',
  },
  aborted: { transient: false, effect: 'unknown', meaning: 'The `signal` of the call fired; `cause` is its reason.' },
  truncated: {
    transient: false,
    effect: 'unknown',
    meaning: 'Not everything can be given, so nothing is: no part is passed off as the whole.',
  },
  command_exited: { transient: true, effect: 'none', meaning: 'The command has ended and reads no more stdin.' },
  write_failed: {
    transient: true,
    effect: 'unknown',
    meaning: 'A file could not be written, or a pipe took no more while its reader was alive.',
  },
  restore_failed: { transient: false, effect: 'unknown', meaning: 'The provider reported that a restore failed.' },
  provider: {
    transient: true,
    effect: 'unknown',
    meaning: 'The far end answered something that is none of these, or nothing that makes sense.',
  },
} as const satisfies Record<string, SandboxErrorCodeTraits>;

/** One of {@link SANDBOX_ERROR_CODES}. */
export type SandboxErrorCode = keyof typeof SANDBOX_ERROR_CODE_TRAITS;

/** Every code a `SandboxError` can have. */
export const SANDBOX_ERROR_CODES = Object.freeze(Object.keys(SANDBOX_ERROR_CODE_TRAITS)) as readonly SandboxErrorCode[];

/** The traits of a code; none of one that only another version of this package knows. */
export function traitsOf(code: SandboxErrorCode): SandboxErrorCodeTraits | undefined {
  return (SANDBOX_ERROR_CODE_TRAITS as Readonly<Record<string, SandboxErrorCodeTraits>>)[code];
}
