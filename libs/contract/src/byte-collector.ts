const FIRST_BYTES = 4096;

/** Joins pieces by copying them, so that a million tiny ones cost no more than their bytes. */
export class ByteCollector {
  #buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(piece: Uint8Array): void {
    const length = this.#length + piece.byteLength;
    if (length > this.#buffer.byteLength) this.#grow(length);
    this.#buffer.set(piece, this.#length);
    this.#length = length;
  }

  /** What was collected, in memory of exactly that size. */
  bytes(): Uint8Array {
    if (this.#buffer.byteLength === this.#length) return this.#buffer;
    const exact = Buffer.allocUnsafeSlow(this.#length);
    exact.set(this.#buffer.subarray(0, this.#length));
    return exact;
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, FIRST_BYTES, this.#buffer.byteLength * 2));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}
