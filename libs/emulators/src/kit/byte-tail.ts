/** Pieces of output of which only the last bytes are kept. */
export class ByteTail<S> {
  #pieces: { readonly source: S; readonly data: Buffer }[] = [];
  #bytes = 0;
  #dropped = 0;

  constructor(private readonly maxBytes: number) {}

  /** Bytes that went by and are not kept. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Bytes that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  get pieces(): readonly { readonly source: S; readonly data: Buffer }[] {
    return this.#pieces;
  }

  push(source: S, data: Buffer): void {
    this.#pieces.push({ source, data });
    this.#bytes += data.length;
    while (this.#bytes > this.maxBytes) {
      const { source: of, data: oldest } = this.#pieces[0]!;
      const excess = this.#bytes - this.maxBytes;
      const cut = Math.min(excess, oldest.length);
      if (cut === oldest.length) this.#pieces.shift();
      // A copy: the rest must not keep the whole piece.
      else this.#pieces[0] = { source: of, data: Buffer.from(oldest.subarray(cut)) };
      this.#bytes -= cut;
      this.#dropped += cut;
    }
  }

  clear(): void {
    this.#pieces = [];
    this.#bytes = 0;
  }
}
