import { expectBytes } from './expect.js';
import { PATTERN_LINE } from './vocabulary.js';

/** Each byte value once, in order. */
export const ALL_BYTES: Uint8Array = Uint8Array.from({ length: 256 }, (_, value) => value);

/** A byte order mark and ends of lines: what decoding takes away or makes another. */
export const BEGINS_LIKE_TEXT: Uint8Array = Buffer.from('\uFEFFone\r\ntwo\r\n\n');

const PATTERN = Buffer.from(PATTERN_LINE.repeat(16 * 1024));

/** Bytes without a pattern, the same for the same seed. */
export function noise(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let at = 0; at < length; at++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[at] = state;
  }
  return bytes;
}

/** What `lines` writes, from `offset` on. */
export function patternAt(offset: number, length: number): Buffer {
  const begin = offset % PATTERN_LINE.length;
  if (begin + length <= PATTERN.length) return PATTERN.subarray(begin, begin + length);
  return Buffer.from(PATTERN_LINE.repeat(Math.ceil((begin + length) / PATTERN_LINE.length))).subarray(
    begin,
    begin + length,
  );
}

/** @throws {Mismatch} unless it is what `lines` writes there */
export function expectPattern(data: Uint8Array, offset: number): void {
  expectBytes(`output from byte ${offset} on`, data, patternAt(offset, data.byteLength));
}
