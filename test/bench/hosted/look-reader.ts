/**
 * Reads what the shim prints in lines of text, one whole look after the other, written by hand: words as
 * `RecordReader` has them, and base64 where that has bytes.
 */
export class LookReader {
  readonly offsets = { stdout: 0, stderr: 0 };
  pid = '';
  exitCode: number | undefined;

  constructor(private readonly take: (data: Uint8Array) => void) {}

  /** @throws {Error} when it is not whole, or says that another number of bytes has come, and what `take` throws */
  look(text: string): void {
    const begin = text.indexOf('@begin\n');
    if (begin === -1 || !text.trimEnd().endsWith('\n@end')) throw new Error('a look did not come to its end');
    for (let at = text.indexOf('\n', begin) + 1; at < text.length;) {
      const end = text.indexOf('\n', at);
      const [word, ...values] = text.slice(at, end).split(' ');
      at = end + 1;
      if (word === '@end') return;
      if (word === '@o' || word === '@e') {
        // Base64 has no such sign.
        const next = text.indexOf('@', at);
        this.output(word === '@o' ? 'stdout' : 'stderr', values, Buffer.from(text.slice(at, next), 'base64'));
        at = next;
      } else this.word(word, values);
    }
  }

  private output(stream: 'stdout' | 'stderr', [offset, bytes]: readonly string[], data: Uint8Array): void {
    if (Number(offset) !== this.offsets[stream] || Number(bytes) !== data.byteLength) {
      throw new Error(`${data.byteLength} bytes came at ${this.offsets[stream]} of ${bytes} at ${offset}`);
    }
    this.offsets[stream] += data.byteLength;
    this.take(data);
  }

  private word(word: string | undefined, values: readonly string[]): void {
    if (word === '@r') this.pid = values[0] ?? '';
    else if (word === '@x') {
      const { stdout, stderr } = this.offsets;
      if (values[1] !== `${stdout}` || values[2] !== `${stderr}`) {
        throw new Error(`${stdout} and ${stderr} bytes came of ${values[1]} and ${values[2]}`);
      }
      this.exitCode = Number(values[0]);
    } else if (word !== '@f' && word !== '@p') throw new Error(`the shim said ${word}`);
  }
}
