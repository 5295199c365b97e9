import { ByteCollector } from './byte-collector.js';
import type { OutputFrame } from './frames.js';

/** The largest that is copied to be joined, and the most that is joined. */
const SMALL_BYTES = 1024;
const MAX_BYTES = 64 * 1024;

/** Small frames of one stream that follow each other, as one. */
export class JoinedFrames {
  readonly #type: OutputFrame['type'];
  readonly #offset: number;
  readonly #bytes = new ByteCollector(MAX_BYTES);
  #isTaken = false;

  constructor(first: OutputFrame) {
    this.#type = first.type;
    this.#offset = first.offset;
    this.#bytes.append(first.data);
  }

  static isSmall({ data }: OutputFrame): boolean {
    return data.byteLength <= SMALL_BYTES;
  }

  /** @returns whether it follows, and there is room */
  add({ data, offset }: OutputFrame): boolean {
    const { length } = this.#bytes;
    if (this.#isTaken || offset !== this.#offset + length || length + data.byteLength > MAX_BYTES) return false;
    this.#bytes.append(data);
    return true;
  }

  /** Nothing is added any more. */
  take(): OutputFrame {
    this.#isTaken = true;
    return { type: this.#type, data: this.#bytes.bytes(), offset: this.#offset };
  }
}
