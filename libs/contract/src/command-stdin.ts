import { Writable } from 'node:stream';
import { callbackify } from 'node:util';
import type { Exit } from './frames.js';
import type { Bytes } from './operations.js';
import { SandboxError } from './sandbox-error.js';

const HIGH_WATER_MARK_BYTES = 256 * 1024;

/** What a {@link CommandStdin} needs of its command. */
export interface StdinTarget {
  readonly exit: Promise<Exit>;
  writeStdin(data: Bytes): Promise<void>;
  closeStdin(): Promise<void>;
}

/**
 * stdin as a Writable: `write` calls back when the pipe took the data, `end` closes. Destroying it before `end` closes
 * stdin too, as destroying a pipe does. The end of the command destroys it, with `command_exited` after an exit.
 *
 * An error is emitted only to those who listen: unlistened, it does not become an uncaught exception.
 */
export class CommandStdin extends Writable {
  readonly #write: (data: Uint8Array, callback: (error?: Error | null) => void) => void;
  readonly #close: (callback: (error?: Error | null) => void) => void;

  constructor(target: StdinTarget) {
    super({ highWaterMark: HIGH_WATER_MARK_BYTES });
    this.#write = callbackify((data: Uint8Array) => target.writeStdin(data));
    this.#close = callbackify(() => target.closeStdin());
    this.on('error', () => {});
    const end = (error: Error) => {
      if (!this.writableEnded) this.destroy(error);
    };
    target.exit.then(
      () => end(new SandboxError('command_exited', { effect: 'none', message: 'the command has exited' })),
      end,
    );
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#write(chunk, callback);
  }

  override _writev(chunks: { chunk: Buffer }[], callback: (error?: Error | null) => void): void {
    this.#write(Buffer.concat(chunks.map(({ chunk }) => chunk)), callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#close(callback);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.writableFinished) this.#close(() => {});
    callback(error);
  }
}
