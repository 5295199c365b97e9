import type { StreamOffsets } from '#libs/contract/core';

/** A place in a journal: all of a cursor's offsets lie before its position. */
export interface Cursor {
  readonly position: number;
  readonly offsets: StreamOffsets;
}

const MARKS = 32;

/**
 * What lies far enough behind every reader to be evicted. Distances are measured in the journal, not per stream: 10
 * early bytes on stderr would otherwise never fall behind, and the process would block at the cap for ever.
 */
export class ReachWindow {
  /** Where readers were, by ascending positions, not denser than a fraction of the margin. */
  private readonly marks: Cursor[] = [];

  /** @param marginBytes how much is kept behind the last reader, of what it has read */
  constructor(private readonly marginBytes: number) {}

  /** A reader began here, or has come here. */
  note({ position, offsets }: Cursor): void {
    let at = this.marks.length;
    while (at > 0 && (this.marks[at - 1] as Cursor).position > position) at--;
    const before = this.marks[at - 1];
    if (before && position - before.position < this.marginBytes / MARKS) return;
    this.marks.splice(at, 0, { position, offsets });
  }

  /** The offsets before which nobody needs anything; `cursors` are all readers, at least one. */
  reach(cursors: readonly Cursor[]): StreamOffsets {
    const target = Math.min(...cursors.map(({ position }) => position)) - this.marginBytes;
    while (this.marks[1] && this.marks[1].position <= target) this.marks.shift();
    const offsets = [...this.marks.slice(0, 1), ...cursors].map((cursor) => cursor.offsets);
    return {
      stdout: Math.min(...offsets.map(({ stdout }) => stdout)),
      stderr: Math.min(...offsets.map(({ stderr }) => stderr)),
    };
  }
}
