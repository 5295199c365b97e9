const LINE_FEED = 10;
const AT = 64;
const BLANK = 32;

/**
 * Makes what the programs of the shim print out of lines of text, however those are cut: words, which begin with `@`,
 * stay as they are, every other line holds bytes, in base64 or, behind a blank, in hexadecimal.
 */
export class RecordLines {
  #rest: Uint8Array = Buffer.alloc(0);

  /** What `data` completes. */
  push(data: Uint8Array): Buffer {
    const all = this.#rest.byteLength === 0 ? asBuffer(data) : Buffer.concat([this.#rest, data]);
    const pieces: Uint8Array[] = [];
    let at = 0;
    for (let end = all.indexOf(LINE_FEED, at); end !== -1; end = all.indexOf(LINE_FEED, at)) {
      pieces.push(decoded(all.subarray(at, end + 1)));
      at = end + 1;
    }
    this.#rest = Buffer.from(all.subarray(at));
    return Buffer.concat(pieces);
  }
}

/** @param line with its line feed */
function decoded(line: Buffer): Uint8Array {
  if (line[0] === AT) return line;
  const text = line.toString('latin1');
  return line[0] === BLANK ? Buffer.from(text.replaceAll(/\s/g, ''), 'hex') : Buffer.from(text, 'base64');
}

function asBuffer(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
