import { constants } from 'node:buffer';
import type { StreamOffsets, TerminalSize } from './frames.js';
import type { AttachOptions, NetworkPolicy } from './operations.js';
import { SandboxError } from './sandbox-error.js';

// Each check gives back the value it was given, or throws `invalid` / `argument` with effect `none`. Messages name the
// argument and what was expected of it. They never repeat a string: it may be a secret.

/** The longest time that Node's timers can wait, in milliseconds. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The error for an argument that is malformed: nothing was done. */
export function invalidArgument(message: string): SandboxError {
  return new SandboxError('invalid', { detail: 'argument', effect: 'none', message });
}

/** A string that can be handed to an operating system: no NUL, and nothing that UTF-8 cannot carry. */
export function checkText(argument: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidArgument(`${argument}: expected a string, got ${kindOf(value)}`);
  if (value.includes('\0')) throw invalidArgument(`${argument}: must not contain a NUL byte`);
  return checkWellFormed(argument, value);
}

/** As `checkText`, and not empty. */
export function checkNonEmptyText(argument: string, value: unknown): string {
  const text = checkText(argument, value);
  if (text === '') throw invalidArgument(`${argument}: must not be empty`);
  return text;
}

/** Encoding a lone surrogate would silently replace it. */
export function checkWellFormed(argument: string, value: string): string {
  if (!value.isWellFormed()) throw invalidArgument(`${argument}: contains a lone surrogate, which UTF-8 cannot carry`);
  return value;
}

/** A safe integer from `min` to `max`. */
export function checkInteger(argument: string, value: unknown, min: number, max: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw invalidArgument(`${argument}: expected an integer from ${min} to ${max}, got ${kindOf(value)}`);
}

/** A boolean or nothing. @default false */
export function checkFlag(argument: string, value: unknown): boolean {
  if (value === undefined) return false;
  if (typeof value !== 'boolean') throw invalidArgument(`${argument}: expected true or false, got ${kindOf(value)}`);
  return value;
}

/** How long a call may take, in milliseconds. */
export function checkTimeoutMs(value: unknown): number {
  return checkInteger('timeoutMs', value, 1, MAX_TIMEOUT_MS);
}

/** Grace of a termination in milliseconds. */
export function checkGraceMs(value: unknown): number {
  return checkInteger('timeoutMs', value, 1, 30_000);
}

/** Permission bits; set-uid, set-gid and sticky are refused. */
export function checkMode(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= 0o777) return value;
  throw invalidArgument(`mode: expected an integer from 0 to 0o777, got ${kindOf(value)}`);
}

/** A limit of output. */
export function checkMaxOutputBytes(value: unknown): number {
  return checkInteger('maxOutputBytes', value, 1, constants.MAX_LENGTH);
}

/** A TCP port. */
export function checkPort(value: unknown): number {
  return checkInteger('port', value, 1, 65_535);
}

const SESSION_ID = /^[A-Za-z0-9_-]{1,256}$/;

/** 1–256 of `[A-Za-z0-9_-]`. */
export function checkSessionId(value: unknown): string {
  if (typeof value === 'string' && SESSION_ID.test(value)) return value;
  throw invalidArgument('sessionId: expected 1 to 256 characters of A-Z, a-z, 0-9, _ and -');
}

/** Columns and rows. */
export function checkTerminalSize(argument: string, value: unknown): TerminalSize {
  const { cols, rows } = checkObject(argument, value);
  return {
    cols: checkInteger(`${argument}.cols`, cols, 1, 65_535),
    rows: checkInteger(`${argument}.rows`, rows, 1, 65_535),
  };
}

/** A list of what may be reached, perhaps empty. */
export function checkNetworkPolicy(value: unknown): NetworkPolicy {
  const { allow } = checkObject('policy', value);
  if (!Array.isArray(allow)) throw invalidArgument(`policy.allow: expected an array of hosts, got ${kindOf(allow)}`);
  return { allow: Array.from(allow, (host, i) => checkNonEmptyText(`policy.allow[${i}]`, host)) };
}

/** Where an attach begins; a stream that is not named begins at its first byte. */
export function checkFrom(value: AttachOptions['from'] | null): StreamOffsets | 'now' {
  if (value === 'now') return value;
  const { stdout, stderr } = value === undefined ? {} : checkObject('from', value);
  return { stdout: offset('from.stdout', stdout), stderr: offset('from.stderr', stderr) };
}

/** An object that holds named values, seen without its types. */
export function checkObject(argument: string, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidArgument(`${argument}: expected an object, got ${kindOf(value)}`);
  }
  return value as Record<string, unknown>;
}

/** An AbortSignal or nothing. */
export function checkSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined || value === null) return undefined;
  const signal = value as AbortSignal;
  if (typeof signal.aborted === 'boolean' && typeof signal.addEventListener === 'function') return signal;
  throw invalidArgument(`signal: expected an AbortSignal, got ${kindOf(value)}`);
}

/** What a value is, in words that give away numbers and nothing else. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : typeof value === 'undefined' ? 'nothing' : `a ${typeof value}`;
}

function offset(argument: string, value: unknown): number {
  return value === undefined ? 0 : checkInteger(argument, value, 0, Number.MAX_SAFE_INTEGER);
}
