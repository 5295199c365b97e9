import type { StreamOffsets } from '#libs/contract/core';

/** Where a file of a journal begins. */
export interface SegmentStart {
  /** Bytes of the journal before it. */
  readonly position: number;
  readonly offsets: StreamOffsets;
}

const SEGMENT_NAME = /^(\d+)-(\d+)-(\d+)\.journal$/;

/** The name carries the start, so that a reader finds its place without an index. */
export function segmentName({ position, offsets }: SegmentStart): string {
  return `${position}-${offsets.stdout}-${offsets.stderr}.journal`;
}

export function parseSegmentName(name: string): SegmentStart | undefined {
  const match = SEGMENT_NAME.exec(name);
  if (!match) return undefined;
  return { position: Number(match[1]), offsets: { stdout: Number(match[2]), stderr: Number(match[3]) } };
}

/** Whether both streams of `a` have come no further than those of `b`. */
export function notBeyond(a: StreamOffsets, b: StreamOffsets): boolean {
  return a.stdout <= b.stdout && a.stderr <= b.stderr;
}
