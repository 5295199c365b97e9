import type { OutputFrame, StreamOffsets } from 'nestjs-sandbox';
import { bytesAt, type Content, type Stream } from './lines.js';

/** What is wrong with the bytes that one reader got. All 0: nothing. */
export interface ByteFaults {
  /** Missing between two frames, or before the end. */
  readonly lost: number;
  /** Delivered again. */
  readonly twice: number;
  /** Other than what was printed, or beyond it. */
  readonly wrong: number;
}

/** Checks both streams of a session, every byte at its offset, without keeping any. */
export class StreamCheck {
  private readonly position: { stdout: number; stderr: number };
  private readonly counts = { lost: 0, twice: 0, wrong: 0 };
  /** Bytes that were checked. */
  read = 0;

  /** @param from where delivery has to begin */
  constructor(
    private readonly content: Content,
    from: StreamOffsets = { stdout: 0, stderr: 0 },
  ) {
    this.position = { stdout: from.stdout, stderr: from.stderr };
  }

  /** The bytes that are needed next. */
  get next(): StreamOffsets {
    return { ...this.position };
  }

  get faults(): ByteFaults {
    return { ...this.counts };
  }

  take({ type, offset, data }: Pick<OutputFrame, 'type' | 'offset' | 'data'>): void {
    const expected = this.position[type];
    if (offset > expected) this.counts.lost += offset - expected;
    else this.counts.twice += Math.min(expected - offset, data.byteLength);
    this.read += data.byteLength;
    this.compare(type, offset, data);
    this.position[type] = Math.max(expected, offset + data.byteLength);
  }

  /** The session has ended by itself: this is how much it printed. */
  end(printed: StreamOffsets): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const missing = printed[stream] - this.position[stream];
      if (missing > 0) this.counts.lost += missing;
      else this.counts.wrong -= missing;
    }
  }

  private compare(stream: Stream, offset: number, data: Uint8Array): void {
    const printed = bytesAt(this.content, stream, offset, data.byteLength);
    if (printed.equals(data)) return;
    for (let at = 0; at < data.length; at++) if (data[at] !== printed[at]) this.counts.wrong++;
  }
}
