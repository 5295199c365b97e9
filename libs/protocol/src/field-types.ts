import type { StreamOffsets } from '#libs/contract/core';
import { Field, MISMATCH, isObject, readShape, writeShape, type Shape, type Typed } from './field.js';

const same = <T>(value: T): T => value;

function check<T>(type: string, test: (value: unknown) => boolean): Field<T> {
  return new Field<T>(type, (value) => (test(value) ? (value as T) : MISMATCH), same, false);
}

export const text = check<string>('a string', (v) => typeof v === 'string');
export const flag = check<boolean>('true or false', (v) => typeof v === 'boolean');
export const integer = check<number>('an integer', (v) => Number.isSafeInteger(v));
export const count = check<number>('an integer ≥ 0', (v) => Number.isSafeInteger(v) && (v as number) >= 0);
export const texts = check<readonly string[]>(
  'an array of strings',
  (v) => Array.isArray(v) && v.every((item) => typeof item === 'string'),
);
export const sessionId = check<string>(
  'a session id of 1 to 256 characters',
  (v) => typeof v === 'string' && v.length > 0 && v.length <= 256,
).as('session_id');

export type Pair = readonly [name: string, value: string];
export const pairs = check<readonly Pair[]>(
  'an array of [name, value] pairs',
  (v) =>
    Array.isArray(v) &&
    v.every((p) => Array.isArray(p) && p.length === 2 && typeof p[0] === 'string' && typeof p[1] === 'string'),
);

const offsetShape = { stdout: count, stderr: count };
export const offsets = new Field<StreamOffsets>(
  'an object of stdout and stderr offsets',
  (value) => {
    if (!isObject(value)) return MISMATCH;
    const { stdout, stderr } = value;
    return isOffset(stdout) && isOffset(stderr) ? { stdout, stderr } : MISMATCH;
  },
  (value) => writeShape(offsetShape, value),
  false,
);
export const offsetsOrNow = new Field<StreamOffsets | 'now'>(
  'an object of stdout and stderr offsets, or "now"',
  (value) => (value === 'now' ? value : offsets.read(value)),
  (value) => (value === 'now' ? value : offsets.write(value)),
  false,
);

export const bytes = new Field<Uint8Array>(
  'base64',
  (value) => (typeof value === 'string' ? (fromBase64(value) ?? MISMATCH) : MISMATCH),
  toBase64,
  false,
);

export function oneOf<const T extends readonly string[]>(...words: T): Field<T[number]> {
  return check<T[number]>(`one of ${words.join(', ')}`, (v) => words.includes(v as string));
}

export function listOf<S extends Shape>(shape: S): Field<readonly Typed<S>[]> {
  return new Field<readonly Typed<S>[]>(
    'an array of objects',
    (value) => {
      if (!Array.isArray(value)) return MISMATCH;
      try {
        return value.map((item) => readShape(shape, item));
      } catch {
        return MISMATCH;
      }
    },
    (value) => value.map((item) => writeShape(shape, item)),
    false,
  );
}

export function toBase64(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
}

/** The bytes of standard, padded base64; undefined for anything else, which Node's decoder would take for less. */
export function fromBase64(encoded: string): Uint8Array | undefined {
  if (encoded.length % 4 !== 0) return undefined;
  const padding = encoded.endsWith('==') ? 2 : encoded.endsWith('=') ? 1 : 0;
  const data = Buffer.from(encoded, 'base64');
  if (data.length !== (encoded.length / 4) * 3 - padding) return undefined;
  return encoded.includes('-') || encoded.includes('_') ? undefined : data;
}

function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
