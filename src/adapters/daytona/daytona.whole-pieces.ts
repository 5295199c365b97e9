import { malformedWord } from '../common/journal-errors.js';

const LINE_FEED = 10;
/** No line that the programs print as text is as long. */
const MAX_LINE_BYTES = 1024;
/** A word, the beginning of a piece, and what holds bytes: in base64 or, behind a blank, in hexadecimal. */
const HEAD = /^@[oe] \d{1,16} (\d{1,7})$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const HEX = /^(?: +[0-9a-f]{2})+$/;

interface Piece {
  readonly head: string;
  readonly bytes: number;
  readonly lines: Buffer[];
  got: number;
}

/**
 * Lines of text as `readText` reads them, out of a stream that may have lost some or tell some twice: a piece is let
 * through once it is whole, and each of its lines is what it must be.
 */
export class WholePieces {
  readonly #through: (data: Buffer) => void;
  #rest: Buffer = Buffer.alloc(0);
  #piece: Piece | undefined;

  /** @param through takes records as `JournalParser` does */
  constructor(through: (data: Buffer) => void) {
    this.#through = through;
  }

  /** Of a piece that is not whole yet. */
  get heldBytes(): number {
    return this.#piece?.got ?? 0;
  }

  /** @throws {SandboxError} `provider` / `malformed_frame`; of what comes then, nothing can be told */
  push(data: Uint8Array): void {
    const all = Buffer.concat([this.#rest, data]);
    let at = 0;
    for (;;) {
      const end = all.indexOf(LINE_FEED, at);
      if (end === -1) break;
      this.#line(all.toString('latin1', at, end));
      at = end + 1;
    }
    this.#rest = all.subarray(at);
    if (this.#rest.byteLength > MAX_LINE_BYTES) throw malformedWord();
  }

  #line(line: string): void {
    const piece = this.#piece;
    if (piece) return this.#bytes(piece, line);
    if (!line.startsWith('@')) throw malformedWord();
    const [, bytes] = HEAD.exec(line) ?? [];
    if (bytes === undefined) return this.#through(Buffer.from(`${line}\n`, 'latin1'));
    this.#piece = { head: line, bytes: Number(bytes), lines: [], got: 0 };
    return undefined;
  }

  #bytes(piece: Piece, line: string): void {
    const isHex = line.startsWith(' ');
    if (line === '' || !(isHex ? HEX : BASE64).test(line)) throw malformedWord();
    const data = isHex ? Buffer.from(line.replaceAll(' ', ''), 'hex') : Buffer.from(line, 'base64');
    const { head, bytes, lines } = piece;
    lines.push(data);
    piece.got += data.byteLength;
    // All lines but the last are as long as the first.
    const width = lines[0]!.byteLength;
    const isLast = piece.got === bytes;
    if (piece.got > bytes || data.byteLength > width || (data.byteLength < width && !isLast)) throw malformedWord();
    if (!isLast) return;
    this.#piece = undefined;
    this.#through(Buffer.concat([Buffer.from(`${head}\n`, 'latin1'), ...lines]));
  }
}
