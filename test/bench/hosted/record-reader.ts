const NEWLINE = 10;

/**
 * Reads what the shim prints, written by hand: `@o <offset> <bytes>` and `@e …`, each with its bytes after it, and at
 * the end `@x <code> <bytes of stdout> <bytes of stderr> <how>`.
 */
export class RecordReader {
  private line = '';
  private left = 0;
  private bytes = 0;

  constructor(
    private readonly take: (data: Uint8Array) => void,
    private readonly exited: (exitCode: number) => void,
    /** Called when all of a piece has come: where credit is given, it is given then. */
    private readonly piece: () => void = () => {},
  ) {}

  /** @throws {Error} when another number of bytes has come than was printed, and what `take` throws */
  push(data: Buffer): void {
    for (let at = 0; at < data.length;) {
      if (this.left > 0) {
        const end = Math.min(data.length, at + this.left);
        this.take(data.subarray(at, end));
        this.bytes += end - at;
        this.left -= end - at;
        at = end;
        if (this.left === 0) this.piece();
        continue;
      }
      const newline = data.indexOf(NEWLINE, at);
      this.line += data.toString('latin1', at, newline === -1 ? data.length : newline);
      if (newline === -1) return;
      this.word(this.line.split(' '));
      this.line = '';
      at = newline + 1;
    }
  }

  private word([word, ...values]: readonly string[]): void {
    const [first = NaN, second = NaN, third = NaN] = values.map(Number);
    if (word === '@o' || word === '@e') {
      this.left = second;
    } else if (word === '@x') {
      if (this.bytes !== second + third) throw new Error(`${this.bytes} bytes came of ${second + third}`);
      this.exited(first);
    } else if (word !== '@r' && word !== '@f') throw new Error(`the shim said ${word}`);
  }
}
