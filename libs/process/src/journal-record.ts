import type { SessionEnd } from './keeper.js';

/**
 * A journal is a row of records: a header of 16 bytes, integers big-endian, then `length` bytes.
 *
 *     0  type     u8   1 output, 2 end
 *     1  stream   u8   1 stdout, 2 stderr; 0 on an end
 *     2  reserved u16  0
 *     4  length   u32  of the bytes that follow
 *     8  offset   u64  bytes of that stream before this record
 *
 * The bytes of an end are the {@link SessionEnd} as JSON.
 */
export const HEADER_BYTES = 16;

/** The longest output of one record. */
export const MAX_RECORD_DATA = 64 * 1024;

export type Stream = 'stdout' | 'stderr';

const OUTPUT = 1;
const END = 2;
const STREAM_CODES = { stdout: 1, stderr: 2 } as const;

export interface RecordHeader {
  readonly type: 'stdout' | 'stderr' | 'end';
  readonly length: number;
  readonly offset: number;
}

export function writeHeader(view: DataView, at: number, header: RecordHeader): void {
  view.setUint8(at, header.type === 'end' ? END : OUTPUT);
  view.setUint8(at + 1, header.type === 'end' ? 0 : STREAM_CODES[header.type]);
  view.setUint16(at + 2, 0);
  view.setUint32(at + 4, header.length);
  view.setUint32(at + 8, Math.floor(header.offset / 2 ** 32));
  view.setUint32(at + 12, header.offset % 2 ** 32);
}

/** `undefined`: not a header that {@link writeHeader} wrote. */
export function readHeader(view: DataView, at: number): RecordHeader | undefined {
  const type = recordType(view.getUint8(at), view.getUint8(at + 1));
  if (type === undefined) return undefined;
  return { type, length: view.getUint32(at + 4), offset: view.getUint32(at + 8) * 2 ** 32 + view.getUint32(at + 12) };
}

export function encodeEnd(end: SessionEnd): Uint8Array {
  return Buffer.from(JSON.stringify(end));
}

export function decodeEnd(bytes: Uint8Array): SessionEnd {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as SessionEnd;
}

function recordType(type: number, stream: number): RecordHeader['type'] | undefined {
  if (type === END) return 'end';
  if (type !== OUTPUT) return undefined;
  if (stream === STREAM_CODES.stdout) return 'stdout';
  return stream === STREAM_CODES.stderr ? 'stderr' : undefined;
}
