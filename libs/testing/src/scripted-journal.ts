import type { OutputFrame, StreamOffsets } from '#libs/contract';

interface Kept {
  readonly frame: OutputFrame;
  /** Bytes of both streams before it. */
  readonly begin: number;
}

/** The output of one session in the order in which it was written, its oldest part perhaps gone. */
export class ScriptedJournal {
  /** By position: a queue from whose front much may be taken. */
  readonly #frames = new Map<number, Kept>();
  readonly #oldest = { stdout: 0, stderr: 0 };
  readonly #end = { stdout: 0, stderr: 0 };
  #first = 0;
  #bytes = 0;

  /** The position that the next frame will have. */
  get next(): number {
    return this.#first + this.#frames.size;
  }

  /** Kept now. */
  get bytes(): number {
    return this.#bytes;
  }

  get offsets(): StreamOffsets {
    return { ...this.#end };
  }

  /** From where on it can be replayed. */
  get oldest(): StreamOffsets {
    return { ...this.#oldest };
  }

  /** The position of the oldest frame. */
  get first(): number {
    return this.#first;
  }

  /** What is kept from `position` on. */
  bytesFrom(position: number): number {
    const begin = this.#frames.get(position)?.begin;
    return begin === undefined ? 0 : this.#end.stdout + this.#end.stderr - begin;
  }

  append(type: OutputFrame['type'], data: Uint8Array): void {
    const begin = this.#end.stdout + this.#end.stderr;
    this.#frames.set(this.next, { frame: { type, data, offset: this.#end[type] }, begin });
    this.#end[type] += data.byteLength;
    this.#bytes += data.byteLength;
  }

  /** What `from` has not seen of the frame at `position`; empty when it has seen all of it. */
  read(position: number, from: StreamOffsets): OutputFrame | undefined {
    const frame = this.#frames.get(position)?.frame;
    if (frame === undefined) return undefined;
    const seen = Math.max(0, from[frame.type] - frame.offset);
    return seen === 0 ? frame : { ...frame, data: frame.data.subarray(seen), offset: frame.offset + seen };
  }

  /** Drops the oldest frames until `bytes` are kept at most. */
  evict(bytes: number): void {
    for (; this.#bytes > bytes; this.#first++) {
      const { type, offset, data } = (this.#frames.get(this.#first) as Kept).frame;
      this.#frames.delete(this.#first);
      this.#oldest[type] = offset + data.byteLength;
      this.#bytes -= data.byteLength;
    }
  }
}
