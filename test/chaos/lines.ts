export type Stream = 'stdout' | 'stderr';

/** Bytes of every line, its end included. */
export const LINE_BYTES = 40;

/** What one story prints: every byte of both streams follows from seed, story, stream and offset. */
export interface Content {
  readonly seed: number;
  readonly story: number;
}

const TAGS: Record<Stream, number> = { stdout: 1, stderr: 2 };
const X_MODULUS = 2_147_483_647;
const Y_MODULUS = 999_999_937;
const FACTOR = 16_807;

/**
 * The same lines in awk: `line(tag, n)`, with `seed` and `story` as variables. All numbers stay below 2^53, which every
 * awk computes exactly, and what is printed below 2^31.
 */
export const AWK_LINE = `
function line(tag, n,   x) {
  x = (n * ${FACTOR} + story * 48271 + tag * 69621 + seed) % ${X_MODULUS}
  return sprintf("%06d.%d.%09d.%010d.%09d\\n", story, tag, n, x, (x * ${FACTOR}) % ${Y_MODULUS})
}`;

/** The bytes of `stream` from `offset` on. */
export function bytesAt({ seed, story }: Content, stream: Stream, offset: number, length: number): Buffer {
  const first = Math.floor(offset / LINE_BYTES);
  const last = Math.ceil((offset + length) / LINE_BYTES);
  const tag = TAGS[stream];
  let text = '';
  for (let n = first; n < last; n++) {
    const x = (n * FACTOR + story * 48_271 + tag * 69_621 + seed) % X_MODULUS;
    const y = (x * FACTOR) % Y_MODULUS;
    text += `${digits(story, 6)}.${tag}.${digits(n, 9)}.${digits(x, 10)}.${digits(y, 9)}\n`;
  }
  const skipped = offset - first * LINE_BYTES;
  return Buffer.from(text, 'latin1').subarray(skipped, skipped + length);
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, '0');
}
