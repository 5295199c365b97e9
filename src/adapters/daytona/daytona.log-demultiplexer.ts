const STDOUT = 1;
const STDERR = 2;
/** A marker is a byte three times. */
const MARKER_BYTES = 3;

/**
 * Tells the streams of a session's log apart, however it is cut: `01 01 01` stands before what was written to stdout,
 * `02 02 02` before what was written to stderr. What has no marker is stdout. A marker in the output itself cannot be
 * told from one of the log, so it is only good for output that has none.
 */
export class LogDemultiplexer {
  readonly #emit: (stream: 'stdout' | 'stderr', data: Uint8Array) => void;
  #stream: 'stdout' | 'stderr' = 'stdout';
  #carry: Buffer = Buffer.alloc(0);

  constructor(emit: (stream: 'stdout' | 'stderr', data: Uint8Array) => void) {
    this.#emit = emit;
  }

  push(data: Uint8Array): void {
    const all = Buffer.concat([this.#carry, data]);
    let from = 0;
    for (let at = 0; at < all.byteLength;) {
      const byte = all[at];
      if (byte !== STDOUT && byte !== STDERR) {
        at += 1;
        continue;
      }
      const run = all.subarray(at, at + MARKER_BYTES);
      const isWhole = run.every((one) => one === byte);
      if (isWhole && run.byteLength < MARKER_BYTES) {
        // The rest of it may come.
        this.#pass(all.subarray(from, at));
        this.#carry = Buffer.from(run);
        return;
      }
      if (!isWhole) {
        at += 1;
        continue;
      }
      this.#pass(all.subarray(from, at));
      this.#stream = byte === STDOUT ? 'stdout' : 'stderr';
      at += MARKER_BYTES;
      from = at;
    }
    this.#carry = Buffer.alloc(0);
    this.#pass(all.subarray(from));
  }

  #pass(data: Uint8Array): void {
    if (data.byteLength > 0) this.#emit(this.#stream, data);
  }
}
