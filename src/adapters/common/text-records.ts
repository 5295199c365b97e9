import { malformedWord } from './journal-errors.js';
import { JournalParser, type JournalRecord } from './journal-parser.js';

const AT = '@';
const LINE_FEED = '\n';
const BLANK = ' ';

/**
 * Reads what the programs of the shim print as lines of text: words, which begin with `@`, and between them bytes, in
 * base64 or, behind a blank, in hexadecimal: as many as the word before them says. A line without its line feed says
 * nothing.
 *
 * @throws {SandboxError} `provider` / `malformed_frame`
 */
export function readText(text: string, emit: (record: JournalRecord) => void): void {
  const parser = new JournalParser(emit);
  const whole = text.lastIndexOf(LINE_FEED) + 1;
  for (let at = 0; at < whole;) {
    // Lines of bytes are decoded together, up to the next word: neither alphabet has an `@`.
    const next = text[at] === AT ? text.indexOf(LINE_FEED, at) + 1 : text.indexOf(AT, at);
    const end = next === -1 ? whole : next;
    const lines = decoded(text.slice(at, end));
    if (parser.left !== (text[at] === AT ? 0 : lines.byteLength)) throw malformedWord();
    parser.push(lines);
    at = end;
  }
  if (parser.left > 0) throw malformedWord();
}

/** @param lines a word, or lines of bytes in one encoding, with their line feeds */
function decoded(lines: string): Buffer {
  if (lines[0] === AT) return Buffer.from(lines);
  return lines[0] === BLANK ? Buffer.from(lines.replaceAll(/\s/g, ''), 'hex') : Buffer.from(lines, 'base64');
}
