import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { StreamOffsets } from '#libs/contract/core';
import { errnoOf } from './errors.js';
import { HEADER_BYTES, encodeEnd, writeHeader, type Stream } from './journal-record.js';
import { notBeyond, segmentName, type SegmentStart } from './journal-segment.js';
import type { SessionEnd } from './keeper.js';

/**
 * Appends a session's output to files. Writes are synchronous, to the page cache: when `append` returns, a reader of
 * the file sees the record. Methods throw what the file system throws.
 */
export class JournalWriter {
  readonly #segments: SegmentStart[] = [];
  #fd: number | undefined;
  #position = 0;
  #offsets: StreamOffsets = { stdout: 0, stderr: 0 };

  constructor(
    readonly directory: string,
    private readonly segmentBytes: number,
  ) {
    makeDirectory(directory);
    this.#begin();
  }

  /** Bytes of the journal so far, evicted ones included. */
  get position(): number {
    return this.#position;
  }

  get offsets(): StreamOffsets {
    return this.#offsets;
  }

  /** The earliest bytes that are still in a file. */
  get oldest(): StreamOffsets {
    return this.#segments[0]!.offsets;
  }

  /** Bytes that lie in files. */
  get kept(): number {
    return this.#position - this.#segments[0]!.position;
  }

  /** Appends the output in `block` after the room for a header that it begins with. */
  append(stream: Stream, block: Uint8Array, view: DataView): void {
    const length = block.length - HEADER_BYTES;
    const offset = this.#offsets[stream];
    writeHeader(view, 0, { type: stream, length, offset });
    this.#write(block);
    this.#offsets = { ...this.#offsets, [stream]: offset + length };
  }

  appendEnd(end: SessionEnd): void {
    const json = encodeEnd(end);
    const block = new Uint8Array(HEADER_BYTES + json.length);
    block.set(json, HEADER_BYTES);
    writeHeader(new DataView(block.buffer), 0, { type: 'end', length: json.length, offset: 0 });
    this.#write(block);
  }

  /** Removes the oldest file if all of it lies before `reach`, and if it can; the one being written stays. */
  evictOldest(reach: StreamOffsets | 'detached' | 'hold'): boolean {
    const next = this.#segments[1];
    if (next === undefined || reach === 'hold') return false;
    if (reach !== 'detached' && !notBeyond(next.offsets, reach)) return false;
    try {
      rmSync(join(this.directory, segmentName(this.#segments[0]!)), { force: true });
    } catch {
      return false;
    }
    this.#segments.shift();
    return true;
  }

  /** Idempotent. */
  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #write(block: Uint8Array): void {
    if (this.#position - this.#segments.at(-1)!.position >= this.segmentBytes) this.#begin();
    let written = 0;
    while (written < block.length) written += writeSync(this.#fd!, block, written, block.length - written);
    this.#position += block.length;
  }

  #begin(): void {
    const start: SegmentStart = { position: this.#position, offsets: this.#offsets };
    const fd = openSync(join(this.directory, segmentName(start)), 'wx', 0o600);
    this.close();
    this.#fd = fd;
    this.#segments.push(start);
  }
}

/** Its parent is nearly always there, and looking for it first costs more than making it after all. */
function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  }
}
