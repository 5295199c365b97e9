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
    const whole = all.lastIndexOf(LINE_FEED) + 1;
    let at = 0;
    while (at < whole) {
      // Lines of bytes are decoded together, up to the next word: neither alphabet has an `@`.
      const next = all[at] === AT ? all.indexOf(LINE_FEED, at) + 1 : all.indexOf(AT, at);
      const end = next === -1 || next > whole ? whole : next;
      pieces.push(decoded(all.subarray(at, end)));
      at = end;
    }
    this.#rest = Buffer.from(all.subarray(at));
    return Buffer.concat(pieces);
  }
}

/** @param line a word, or lines of bytes in one encoding, with their line feeds */
function decoded(line: Buffer): Uint8Array {
  if (line[0] === AT) return line;
  const text = line.toString('latin1');
  return line[0] === BLANK ? Buffer.from(text.replaceAll(/\s/g, ''), 'hex') : Buffer.from(text, 'base64');
}

function asBuffer(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
