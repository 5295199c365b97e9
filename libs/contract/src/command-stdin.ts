import { Writable } from 'node:stream';
import { callbackify } from 'node:util';
import type { Exit } from './frames.js';
import type { Bytes } from './operations.js';

const HIGH_WATER_MARK_BYTES = 256 * 1024;

type Callback = (error?: Error | null) => void;

/** What a {@link CommandStdin} needs of its command. */
export interface StdinTarget {
  readonly exit: Promise<Exit>;
  writeStdin(data: Bytes): Promise<void>;
  closeStdin(): Promise<void>;
}

/**
 * stdin as a Writable: a write calls back when the pipe took the data, `end` closes stdin. Destroying it before `end`
 * closes stdin too, as it does for a pipe. The exit of the command closes the Writable without an error; what was
 * being written then fails with `command_exited`. Any other end of the command is its error.
 *
 * An error is emitted only to those who listen: unlistened, it does not become an uncaught exception.
 */
export class CommandStdin extends Writable {
  readonly #write: (data: Uint8Array, callback: Callback) => void;
  readonly #close: (callback: Callback) => void;

  constructor(target: StdinTarget) {
    super({ highWaterMark: HIGH_WATER_MARK_BYTES });
    this.#write = callbackify((data: Uint8Array) => target.writeStdin(data));
    this.#close = callbackify(() => target.closeStdin());
    this.on('error', () => {});
    target.exit.then(
      // A turn later, when writes have been told how they ended.
      () => setImmediate(() => this.destroy()),
      (error: Error) => this.destroy(error),
    );
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: Callback): void {
    this.#write(chunk, callback);
  }

  override _writev(chunks: { chunk: Buffer }[], callback: Callback): void {
    this.#write(Buffer.concat(chunks.map(({ chunk }) => chunk)), callback);
  }

  override _final(callback: Callback): void {
    this.#close(callback);
  }

  override _destroy(error: Error | null, callback: Callback): void {
    if (!this.writableFinished) this.#close(() => {});
    callback(error);
  }
}
