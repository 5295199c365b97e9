import { isDeepStrictEqual } from 'node:util';
import { SandboxError, type SandboxEffect, type SandboxErrorCode, type SandboxErrorDetail } from '#libs/contract';
import { describe } from './describe.js';
import { Mismatch } from './mismatch.js';

/** What an error must be. A property that is absent is not looked at; several values: any of them. */
export interface ExpectedError {
  readonly code: SandboxErrorCode | readonly SandboxErrorCode[];
  readonly detail?: SandboxErrorDetail | readonly SandboxErrorDetail[];
  readonly effect?: SandboxEffect | readonly SandboxEffect[];
  /** This very value. */
  readonly cause?: unknown;
}

/** That both are deeply the same. @throws {Mismatch} */
export function expectEqual(what: string, observed: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(observed, expected)) throw new Mismatch(what, describe(expected), describe(observed));
}

/** That it holds; `observed` is what was seen. @throws {Mismatch} */
export function expectThat(what: string, holds: boolean, expected: string, observed: unknown): asserts holds {
  if (!holds) throw new Mismatch(what, expected, describe(observed));
}

/** That both hold the same bytes. @throws {Mismatch} with the place of the first that differs */
export function expectBytes(what: string, observed: Uint8Array, expected: Uint8Array | string): void {
  const wanted = Buffer.from(expected);
  const seen = Buffer.from(observed.buffer, observed.byteOffset, observed.byteLength);
  if (seen.equals(wanted)) return;
  const shorter = Math.min(seen.length, wanted.length);
  let at = 0;
  while (at < shorter && seen[at] === wanted[at]) at += 1;
  throw new Mismatch(
    `${what}, which differs from byte ${at} on`,
    `${wanted.length} bytes, there ${describe(wanted.subarray(at))}`,
    `${seen.length} bytes, there ${describe(seen.subarray(at))}`,
  );
}

/** The error, which is a `SandboxError` as expected. @throws {Mismatch} */
export function expectError(what: string, error: unknown, expected: ExpectedError): SandboxError {
  const holds =
    error instanceof SandboxError &&
    isOneOf(error.code, expected.code) &&
    (expected.detail === undefined || isOneOf(error.detail, expected.detail)) &&
    (expected.effect === undefined || isOneOf(error.effect, expected.effect)) &&
    (expected.cause === undefined || error.cause === expected.cause);
  if (holds) return error;
  throw new Mismatch(
    what,
    describe(expected),
    error instanceof Error ? describe(error) : `${describe(error)}, no error`,
  );
}

/**
 * Awaits a rejection that is as expected. A case may fail before it comes to this one: then nobody hears of it.
 *
 * @throws {Mismatch} also when the promise resolves
 */
export function expectRejection(
  what: string,
  promise: PromiseLike<unknown>,
  expected: ExpectedError,
): Promise<SandboxError> {
  const rejected = rejection(what, promise, expected);
  rejected.catch(() => {});
  return rejected;
}

async function rejection(what: string, promise: PromiseLike<unknown>, expected: ExpectedError): Promise<SandboxError> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return expectError(what, error, expected);
  }
  throw new Mismatch(what, `a rejection ${describe(expected)}`, `resolved with ${describe(value)}`);
}

function isOneOf<T>(value: unknown, allowed: T | readonly T[]): boolean {
  return Array.isArray(allowed) ? allowed.includes(value) : value === allowed;
}
