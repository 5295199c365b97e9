import { types } from 'node:util';
import { SandboxError } from '#libs/contract';

const LONGEST_TEXT = 120;
const MOST_ENTRIES = 12;

/** A value on one short line, for transcripts: bytes by number, long text cut with its length told. */
export function describe(value: unknown, depth = 0): string {
  if (typeof value === 'string') return text(value);
  if (value instanceof SandboxError) return describeError(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Uint8Array) return bytes(value);
  if (value instanceof AbortSignal) return value.aborted ? '<aborted signal>' : '<signal>';
  // Under Jest a date that comes from Node is of another realm than this file.
  if (types.isDate(value)) return value.toISOString();
  if (typeof value === 'function') return '<function>';
  if (typeof value !== 'object' || value === null) return String(value);
  if (depth > 3) return '…';
  if (value instanceof Set || value instanceof Map) return describe([...value], depth);
  if (Array.isArray(value)) return `[${entries(value.map((one) => describe(one, depth + 1)))}]`;
  const named = Object.entries(value).flatMap(([key, one]) =>
    one === undefined ? [] : [`${key}: ${describe(one, depth + 1)}`],
  );
  return `{ ${entries(named)} }`;
}

/** Code, detail and effect of an error, what it says, and the error behind it. */
function describeError(error: SandboxError): string {
  const { code, detail, effect, message, cause } = error;
  const named = `${code}${detail === undefined ? '' : ` / ${detail}`}`;
  // Under Jest an error of the system is of another realm than this file.
  const behind = types.isNativeError(cause) ? `, cause ${cause.name}: ${text(cause.message)}` : '';
  return `SandboxError ${named}, effect ${effect} (${text(message)})${behind}`;
}

function entries(all: readonly string[]): string {
  const shown = all.slice(0, MOST_ENTRIES).join(', ');
  return all.length > MOST_ENTRIES ? `${shown}, … ${all.length} in all` : shown;
}

function text(value: string): string {
  return value.length > LONGEST_TEXT
    ? `${JSON.stringify(value.slice(0, LONGEST_TEXT))}… ${value.length} characters`
    : JSON.stringify(value);
}

function bytes(value: Uint8Array): string {
  const shown = Buffer.from(value.buffer, value.byteOffset, Math.min(value.byteLength, 32)).toString('latin1');
  return `<${value.byteLength} bytes ${JSON.stringify(shown)}${value.byteLength > 32 ? '…' : ''}>`;
}
