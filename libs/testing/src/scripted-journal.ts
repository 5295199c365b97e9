import type { OutputFrame, StreamOffsets } from '#libs/contract';

/** The output of one session in the order in which it was written, its oldest part perhaps gone. */
export class ScriptedJournal {
  /** By position: a queue from whose front much may be taken. */
  readonly #frames = new Map<number, OutputFrame>();
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

  append(type: OutputFrame['type'], data: Uint8Array): void {
    this.#frames.set(this.next, { type, data, offset: this.#end[type] });
    this.#end[type] += data.byteLength;
    this.#bytes += data.byteLength;
  }

  /** What `from` has not seen of the frame at `position`; empty when it has seen all of it. */
  read(position: number, from: StreamOffsets): OutputFrame | undefined {
    const frame = this.#frames.get(position);
    if (frame === undefined) return undefined;
    const seen = Math.max(0, from[frame.type] - frame.offset);
    return seen === 0 ? frame : { ...frame, data: frame.data.subarray(seen), offset: frame.offset + seen };
  }

  /** Drops the oldest frames until `bytes` are kept at most. */
  evict(bytes: number): void {
    for (; this.#bytes > bytes; this.#first++) {
      const { type, offset, data } = this.#frames.get(this.#first) as OutputFrame;
      this.#frames.delete(this.#first);
      this.#oldest[type] = offset + data.byteLength;
      this.#bytes -= data.byteLength;
    }
  }
}
