import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BenchmarkContext } from './benchmark.js';
import { tempDir } from '../support/temp-dir.js';

const MiB = 1024 * 1024;

/** Output that is known beforehand: a file of random bytes, printed over and over. */
export class Pattern {
  private constructor(
    readonly path: string,
    private readonly bytes: Buffer,
  ) {}

  static async create(context: BenchmarkContext, sizeMiB: number): Promise<Pattern> {
    const directory = await tempDir('bench-pattern');
    context.defer('Removing the output file', () => directory.remove());
    const bytes = randomBytes(sizeMiB * MiB);
    const path = join(directory.path, 'pattern');
    await writeFile(path, bytes);
    return new Pattern(path, bytes);
  }

  /** The program that prints it, `times` in a row, and how many bytes that is. */
  printed(times: number): { command: string; args: string[]; bytes: number } {
    return { command: 'cat', args: Array<string>(times).fill(this.path), bytes: times * this.bytes.length };
  }

  /** Checks one output from its first byte to its last, by comparing: far cheaper than a digest, and as exact. */
  reader(): PatternReader {
    return new PatternReader(this.bytes);
  }
}

export class PatternReader {
  private offset = 0;

  constructor(private readonly bytes: Buffer) {}

  /** @throws {Error} at the first byte that is not the printed one */
  take(data: Uint8Array): void {
    for (let at = 0; at < data.length;) {
      const place = this.offset % this.bytes.length;
      const length = Math.min(data.length - at, this.bytes.length - place);
      if (this.bytes.compare(data, at, at + length, place, place + length) !== 0) {
        throw new Error(`other bytes came than were printed, after ${this.offset}`);
      }
      this.offset += length;
      at += length;
    }
  }

  /** @throws {Error} unless exactly `bytes` have come */
  end(bytes: number): void {
    if (this.offset !== bytes) throw new Error(`${this.offset} bytes came of ${bytes} that were printed`);
  }
}
