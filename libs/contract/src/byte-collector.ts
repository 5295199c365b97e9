const FIRST_BYTES = 4096;

/** Joins pieces by copying them, so that a million tiny ones cost no more than their bytes. */
export class ByteCollector {
  readonly #expectedMaxBytes: number;
  readonly #expectedBytes: number;
  #buffer = Buffer.alloc(0);
  #length = 0;

  /**
   * @param expectedMaxBytes no more is reserved ahead; more may still be appended
   * @param expectedBytes at least as much is reserved with the first piece
   */
  constructor(expectedMaxBytes: number, expectedBytes = 0) {
    this.#expectedMaxBytes = expectedMaxBytes;
    this.#expectedBytes = expectedBytes;
  }

  get length(): number {
    return this.#length;
  }

  append(piece: Uint8Array): void {
    const length = this.#length + piece.byteLength;
    if (length > this.#buffer.byteLength) this.#resize(this.#capacityFor(length));
    this.#buffer.set(piece, this.#length);
    this.#length = length;
  }

  /** What was collected, in memory of exactly that size. */
  bytes(): Uint8Array {
    if (this.#buffer.byteLength !== this.#length) this.#resize(this.#length);
    return this.#buffer;
  }

  #capacityFor(needed: number): number {
    const ahead = Math.max(FIRST_BYTES, this.#expectedBytes, this.#buffer.byteLength * 2);
    return Math.max(needed, Math.min(ahead, this.#expectedMaxBytes));
  }

  #resize(capacity: number): void {
    const resized = Buffer.allocUnsafeSlow(capacity);
    resized.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = resized;
  }
}
