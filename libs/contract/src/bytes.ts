import { ByteCollector } from './byte-collector.js';
import { checkWellFormed, invalidArgument, kindOf } from './checks.js';
import type { Bytes } from './operations.js';
import { SandboxError } from './sandbox-error.js';

/** Content in its normal form: whole, or in pieces that come one after the other. */
export type ByteSource = Uint8Array | AsyncIterable<Uint8Array>;

/**
 * Text as UTF-8, bytes as they are, not copied.
 *
 * @throws {SandboxError} `invalid` / `argument`
 */
export function toBytes(argument: string, value: unknown): Uint8Array {
  if (typeof value === 'string') return Buffer.from(checkWellFormed(argument, value), 'utf8');
  if (value instanceof Uint8Array) return value;
  throw invalidArgument(`${argument}: expected bytes or a string, got ${kindOf(value)}`);
}

/**
 * What a caller gives as content, in its normal form. Pieces are checked as they come.
 *
 * @throws {SandboxError} `invalid` / `argument`
 */
export function toByteSource(argument: string, value: unknown): ByteSource {
  return isAsyncIterable(value) ? pieces(argument, value) : toBytes(argument, value);
}

/**
 * All of `content` in one piece.
 *
 * @param limitBytes where reading stops
 * @throws {SandboxError} `invalid` / `request_too_large` beyond the limit; the content's own error as it is
 */
export async function collectBytes(content: ByteSource, limitBytes: number): Promise<Uint8Array> {
  if (content instanceof Uint8Array) {
    if (content.byteLength > limitBytes) throw tooLarge(limitBytes);
    return content;
  }
  const collected = new ByteCollector(limitBytes);
  for await (const piece of content) {
    if (collected.length + piece.byteLength > limitBytes) throw tooLarge(limitBytes);
    collected.append(piece);
  }
  return collected.bytes();
}

async function* pieces(argument: string, source: AsyncIterable<Bytes>): AsyncGenerator<Uint8Array> {
  for await (const piece of source) yield toBytes(`${argument}: a piece`, piece);
}

function isAsyncIterable(value: unknown): value is AsyncIterable<Bytes> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Partial<AsyncIterable<Bytes>>)[Symbol.asyncIterator] === 'function'
  );
}

function tooLarge(limitBytes: number): SandboxError {
  return new SandboxError('invalid', {
    detail: 'request_too_large',
    effect: 'none',
    message: `the content has more than ${limitBytes} bytes`,
  });
}
