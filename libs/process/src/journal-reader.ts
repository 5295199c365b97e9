import { close, open, read } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SandboxError, type StreamOffsets } from '#libs/contract/core';
import { errnoOf, systemError } from './errors.js';
import { HEADER_BYTES, decodeEnd, readHeader, MAX_RECORD_DATA, type Stream } from './journal-record.js';
import { notBeyond, parseSegmentName, segmentName, type SegmentStart } from './journal-segment.js';
import type { JournalView, SessionEnd } from './keeper.js';

const openFile = promisify(open);
const closeFile = promisify(close);
const readFile = promisify(read);

const READ_BYTES = 256 * 1024;

export type JournalRecord =
  | { readonly type: Stream; readonly offset: number; readonly data: Uint8Array }
  | { readonly type: 'end'; readonly end: SessionEnd };

/**
 * Reads a session's journal from given offsets on, while it is being written. It sees only what was announced: the
 * caller passes the position of the tail it was told. One `read` at a time.
 */
export class JournalReader {
  readonly #from: StreamOffsets;
  #offsets: StreamOffsets;
  #position: number;
  /** The file that holds `#position`, once something there is to be read. */
  #file: { readonly fd: number; readonly start: number } | undefined;
  #next: SegmentStart | undefined;
  #reading: Promise<unknown> | undefined;
  #closed = false;

  private constructor(
    private readonly view: JournalView,
    start: SegmentStart,
    from: StreamOffsets,
  ) {
    this.#from = from;
    this.#next = start;
    this.#position = start.position;
    this.#offsets = start.offsets;
  }

  /**
   * @param from bytes of each stream that are not to be delivered; `'oldest'`: all that is kept
   * @throws {SandboxError} `truncated` / `replay_evicted` with `cause: { oldest }`; `invalid` / `offset_beyond_end`;
   *   `not_found`: the session is gone
   */
  static async open(view: JournalView, from: StreamOffsets | 'oldest'): Promise<JournalReader> {
    const wanted = from === 'oldest' ? view.oldest : from;
    if (!notBeyond(wanted, view.offsets)) {
      throw new SandboxError('invalid', {
        detail: 'offset_beyond_end',
        message: 'the offset lies beyond the output so far',
      });
    }
    if (!notBeyond(view.oldest, wanted)) throw evicted(view.oldest);
    // A short journal has one file, whose name is known.
    if (wanted.stdout === 0 && wanted.stderr === 0) {
      return new JournalReader(view, { position: 0, offsets: { stdout: 0, stderr: 0 } }, wanted);
    }
    const starts = (await segmentStarts(view)).filter((start) => notBeyond(start.offsets, wanted));
    const start = starts.toSorted((a, b) => a.position - b.position).at(-1);
    if (!start) throw evicted(view.oldest);
    return new JournalReader(view, start, wanted);
  }

  /** Bytes of the journal before what `read` gives next. */
  get position(): number {
    return this.#position;
  }

  /** How much of each stream was delivered or lay before `from`. */
  get offsets(): StreamOffsets {
    return {
      stdout: Math.max(this.#offsets.stdout, this.#from.stdout),
      stderr: Math.max(this.#offsets.stderr, this.#from.stderr),
    };
  }

  /**
   * The next records, in order: at least one if any lies before `limit`, and about `maxBytes` of data at most.
   * Empty: everything up to `limit` was read.
   *
   * @param limit a position of the journal that was announced
   * @throws {SandboxError} `truncated` / `replay_evicted`: evicted before it was read; `not_found`: the session is
   *   gone; `unavailable` / `journal_failed`
   */
  async read(limit: number, maxBytes: number): Promise<JournalRecord[]> {
    const reading = this.#read(limit, maxBytes);
    this.#reading = reading.catch(() => {});
    return await reading;
  }

  /** Idempotent; waits for a pending `read`. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#reading;
    await this.#closeFile();
  }

  async #read(limit: number, maxBytes: number): Promise<JournalRecord[]> {
    try {
      while (this.#position < limit && !this.#closed) {
        const records = await this.#readOnce(limit - this.#position, maxBytes);
        if (records.length > 0) return records;
      }
      return [];
    } catch (error) {
      throw error instanceof SandboxError ? error : unreadable(error);
    }
  }

  async #readOnce(available: number, maxBytes: number): Promise<JournalRecord[]> {
    const file = this.#file ?? (await this.#openFile());
    const wanted = Math.min(READ_BYTES, Math.max(maxBytes, MAX_RECORD_DATA) + HEADER_BYTES, available);
    const buffer = Buffer.allocUnsafeSlow(wanted);
    const { bytesRead } = await readFile(file.fd, buffer, 0, wanted, this.#position - file.start);
    if (bytesRead === 0) {
      if (this.#position === file.start) throw unreadable();
      this.#next = { position: this.#position, offsets: this.#offsets };
      await this.#closeFile();
      return [];
    }
    return this.#parse(buffer.subarray(0, bytesRead), maxBytes);
  }

  #parse(bytes: Buffer, maxBytes: number): JournalRecord[] {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const records: JournalRecord[] = [];
    let at = 0;
    let taken = 0;
    while (at + HEADER_BYTES <= bytes.length && (taken < maxBytes || records.length === 0)) {
      const header = readHeader(view, at);
      if (header === undefined || header.length > MAX_RECORD_DATA) throw unreadable();
      const begin = at + HEADER_BYTES;
      const end = begin + header.length;
      if (end > bytes.length) break;
      const data = bytes.subarray(begin, end);
      if (header.type === 'end') records.push({ type: 'end', end: decodeEnd(data) });
      else {
        const { type, offset, length } = header;
        const skip = Math.min(length, Math.max(0, this.#from[type] - offset));
        if (skip < length) records.push({ type, offset: offset + skip, data: data.subarray(skip) });
        taken += length - skip;
        this.#offsets = { ...this.#offsets, [type]: offset + length };
      }
      at = end;
    }
    if (at === 0) throw unreadable();
    this.#position += at;
    return records;
  }

  async #openFile(): Promise<{ readonly fd: number; readonly start: number }> {
    const start = this.#next!;
    try {
      const fd = await openFile(join(this.view.directory, segmentName(start)), 'r');
      this.#file = { fd, start: start.position };
      return this.#file;
    } catch (error) {
      throw errnoOf(error) === 'ENOENT' ? evicted(await this.#oldestNow()) : error;
    }
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    // Only read from: there is nothing that a close could lose.
    if (file) await closeFile(file.fd).catch(() => {});
  }

  async #oldestNow(): Promise<StreamOffsets> {
    const starts = await segmentStarts(this.view);
    return starts.reduce((oldest, one) => (one.position < oldest.position ? one : oldest)).offsets;
  }
}

/**
 * The files that there are, at least one.
 *
 * @throws {SandboxError} `not_found`: there is none, since the session is gone
 */
async function segmentStarts(view: JournalView): Promise<[SegmentStart, ...SegmentStart[]]> {
  const names = await readdir(view.directory).catch((error: unknown) => {
    throw errnoOf(error) === 'ENOENT' ? gone() : unreadable(error);
  });
  const [first, ...others] = names.flatMap((name) => parseSegmentName(name) ?? []);
  if (first === undefined) throw gone();
  return [first, ...others];
}

function gone(): SandboxError {
  return new SandboxError('not_found', { message: 'the session is gone, and its output with it', effect: 'none' });
}

function evicted(oldest: StreamOffsets): SandboxError {
  return new SandboxError('truncated', {
    detail: 'replay_evicted',
    message: 'that output is no longer kept',
    effect: 'none',
    cause: { oldest },
  });
}

function unreadable(cause?: unknown): SandboxError {
  const failure = systemError('unavailable', 'the journal cannot be read', cause, 'none');
  return failure.with({ detail: 'journal_failed' });
}
