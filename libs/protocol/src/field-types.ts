import type { StreamOffsets } from '#libs/contract/core';
import { Field, MISMATCH, readShape, writeShape, type Shape, type Typed } from './field.js';

const same = <T>(value: T): T => value;

function check<T>(type: string, test: (value: unknown) => boolean): Field<T> {
  return new Field<T>(type, (value) => (test(value) ? (value as T) : MISMATCH), same, false);
}

/** A lone surrogate has no UTF-8: written as such, a path or an argument would silently become another one. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed();
}

export const text = check<string>('a well-formed string', isText);
export const flag = check<boolean>('true or false', (v) => typeof v === 'boolean');
export const integer = check<number>('an integer', (v) => Number.isSafeInteger(v));
export const count = check<number>('an integer ≥ 0', (v) => Number.isSafeInteger(v) && (v as number) >= 0);
/** Up to what the systems of any daemon give: 8 bits, or 32. */
export const exitCode = check<number>(
  'an integer of 0 to 4294967295',
  (v) => Number.isSafeInteger(v) && (v as number) >= 0 && (v as number) <= 0xffff_ffff,
);
export const texts = check<readonly string[]>(
  'an array of well-formed strings',
  (v) => Array.isArray(v) && v.every(isText),
);
export const sessionId = check<string>(
  'a session id of 1 to 256 characters',
  (v) => isText(v) && v.length > 0 && v.length <= 256,
).as('session_id');

export type Pair = readonly [name: string, value: string];
export const pairs = check<readonly Pair[]>(
  'an array of [name, value] pairs',
  (v) => Array.isArray(v) && v.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(isText)),
);

export const offsets: Field<StreamOffsets> = objectOf('an object of stdout and stderr offsets', {
  stdout: count,
  stderr: count,
});
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

function objectOf<S extends Shape>(type: string, shape: S): Field<Typed<S>> {
  return new Field<Typed<S>>(
    type,
    (value) => {
      try {
        return readShape(shape, value);
      } catch {
        return MISMATCH;
      }
    },
    (value) => writeShape(shape, value),
    false,
  );
}

export function listOf<S extends Shape>(shape: S): Field<readonly Typed<S>[]> {
  const item = objectOf('an object', shape);
  return new Field<readonly Typed<S>[]>(
    'an array of objects',
    (value) => {
      if (!Array.isArray(value)) return MISMATCH;
      const items = value.map((one) => item.read(one));
      return items.includes(MISMATCH) ? MISMATCH : (items as Typed<S>[]);
    },
    (value) => value.map((one) => item.write(one)),
    false,
  );
}

export function toBase64(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
}

/**
 * The bytes of standard, padded base64; undefined for anything else. Node's decoder alone skips what it does not know,
 * stops at padding, takes the URL-safe alphabet too, and reads characters beyond Latin-1 by their low byte.
 */
export function fromBase64(encoded: string): Uint8Array | undefined {
  if (encoded.length % 4 !== 0 || Buffer.byteLength(encoded) !== encoded.length) return undefined;
  const padding = encoded.endsWith('==') ? 2 : encoded.endsWith('=') ? 1 : 0;
  const data = Buffer.from(encoded, 'base64');
  if (data.length !== (encoded.length / 4) * 3 - padding) return undefined;
  return encoded.includes('-') || encoded.includes('_') ? undefined : data;
}
