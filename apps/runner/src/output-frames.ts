import type { JournalRecord } from '#libs/process';

export interface OutputPiece {
  readonly type: 'stdout' | 'stderr';
  readonly offset: number;
  readonly data: Uint8Array;
}

/**
 * Records as frames of at most `maxBytes`, in their order: neighbours of one stream become one frame, since many
 * small writes would cost a frame each.
 */
export function* outputFrames(records: readonly JournalRecord[], maxBytes: number): Generator<OutputPiece> {
  let parts: Uint8Array[] = [];
  let first: OutputPiece | undefined;
  let bytes = 0;
  for (const record of records) {
    if (record.type === 'end') continue;
    if (first && (record.type !== first.type || bytes + record.data.length > maxBytes)) {
      yield { ...first, data: joined(parts, bytes) };
      first = undefined;
    }
    if (record.data.length > maxBytes) {
      yield* pieces(record, maxBytes);
      continue;
    }
    if (!first) [first, parts, bytes] = [record, [], 0];
    parts.push(record.data);
    bytes += record.data.length;
  }
  if (first) yield { ...first, data: joined(parts, bytes) };
}

function* pieces({ type, offset, data }: OutputPiece, maxBytes: number): Generator<OutputPiece> {
  for (let at = 0; at < data.length; at += maxBytes) {
    yield { type, offset: offset + at, data: data.subarray(at, at + maxBytes) };
  }
}

function joined(parts: readonly Uint8Array[], bytes: number): Uint8Array {
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts, bytes);
}
