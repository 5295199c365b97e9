import { SandboxError } from '#libs/contract';

/** What a program of the shim prints: bytes of a stream, in pieces as they come, or a word with what belongs to it. */
export type JournalRecord =
  | {
      readonly type: 'output';
      readonly stream: 'stdout' | 'stderr';
      readonly offset: number;
      readonly data: Uint8Array;
    }
  | { readonly type: 'piece' }
  | { readonly type: 'word'; readonly word: string; readonly values: readonly string[] };

/** An exit as it is recorded: after so many bytes of both streams. */
export interface RecordedExit {
  readonly exitCode: number;
  readonly stdout: number;
  readonly stderr: number;
  /** `-` ended; `s` did not start; `k` was killed from outside; `j` its output could not be kept. */
  readonly how: string;
}

const MAX_LINE_BYTES = 256;
const NEWLINE = 10;
const LINE = /^@([a-z])((?: [^\s]+)*)$/;
const STREAMS: Readonly<Record<string, 'stdout' | 'stderr'>> = { o: 'stdout', e: 'stderr' };

/** Reads what the programs of the shim print, however it is cut. A `piece` record follows the last byte of each. */
export class JournalParser {
  readonly #emit: (record: JournalRecord) => void;
  #line: Uint8Array[] = [];
  #lineBytes = 0;
  #piece: { stream: 'stdout' | 'stderr'; offset: number; left: number } | undefined;

  constructor(emit: (record: JournalRecord) => void) {
    this.#emit = emit;
  }

  /** Bytes of output that are still to come before the next word. */
  get left(): number {
    return this.#piece?.left ?? 0;
  }

  /** @throws {SandboxError} `provider` / `malformed_frame` */
  push(data: Uint8Array): void {
    let at = 0;
    while (at < data.byteLength) at = this.#piece ? this.#output(this.#piece, data, at) : this.#readLine(data, at);
  }

  #output(piece: { stream: 'stdout' | 'stderr'; offset: number; left: number }, data: Uint8Array, at: number): number {
    const end = Math.min(data.byteLength, at + piece.left);
    const { stream, offset } = piece;
    piece.offset += end - at;
    piece.left -= end - at;
    if (piece.left === 0) this.#piece = undefined;
    this.#emit({ type: 'output', stream, offset, data: data.subarray(at, end) });
    if (piece.left === 0) this.#emit({ type: 'piece' });
    return end;
  }

  #readLine(data: Uint8Array, at: number): number {
    const newline = data.indexOf(NEWLINE, at);
    const end = newline === -1 ? data.byteLength : newline;
    this.#line.push(data.subarray(at, end));
    this.#lineBytes += end - at;
    if (this.#lineBytes > MAX_LINE_BYTES) throw malformed();
    if (newline === -1) return end;
    const line = Buffer.concat(this.#line).toString('latin1');
    this.#line = [];
    this.#lineBytes = 0;
    this.#word(line);
    return newline + 1;
  }

  #word(line: string): void {
    const [, word, rest] = LINE.exec(line) ?? [];
    if (word === undefined || rest === undefined) throw malformed();
    const values = rest.split(' ').slice(1);
    const stream = STREAMS[word];
    if (stream === undefined) return this.#emit({ type: 'word', word, values });
    const [offset, left] = values.map(count);
    if (values.length !== 2 || offset === undefined || left === undefined || left === 0) throw malformed();
    this.#piece = { stream, offset, left };
  }
}

/** @throws {SandboxError} `provider` / `malformed_frame` */
export function recordedExit(values: readonly string[]): RecordedExit {
  const [code, stdout, stderr] = values.slice(0, 3).map(count);
  const how = values[3];
  if (code === undefined || code > 255 || stdout === undefined || stderr === undefined || how === undefined) {
    throw malformed();
  }
  return { exitCode: code, stdout, stderr, how };
}

/** @throws {SandboxError} `provider` / `malformed_frame` */
export function count(text: string | undefined): number {
  const value = text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw malformed();
  return value;
}

function malformed(): SandboxError {
  return new SandboxError('provider', {
    detail: 'malformed_frame',
    effect: 'unknown',
    message: 'the shim in the sandbox printed something else than a record',
  });
}
