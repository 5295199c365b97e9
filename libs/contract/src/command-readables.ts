import { Readable } from 'node:stream';
import type { CommandStream, FrameReader } from './command-stream.js';
import { Fifo } from './fifo.js';
import type { OutputFrame } from './frames.js';
import type { SandboxError } from './sandbox-error.js';

const NOTHING = Buffer.alloc(0);

/** One stream of the output: what arrived for it waits here, holding its credit, until it is read. */
class OutputReadable extends Readable {
  readonly #frames = new Fifo<OutputFrame>();
  readonly #taken: (frame: OutputFrame) => void;
  readonly #onClose: () => void;
  #end: 'exit' | SandboxError | undefined;
  #wanted = false;

  constructor(taken: (frame: OutputFrame) => void, onClose: () => void) {
    super();
    this.#taken = taken;
    this.#onClose = onClose;
    // A stream that nobody listens to must not bring the process down.
    this.on('error', () => {});
  }

  offer(frame: OutputFrame): void {
    if (this.destroyed) return this.#taken(frame);
    this.#frames.push(frame);
    if (this.#wanted) this.#give();
  }

  finish(end: 'exit' | SandboxError): void {
    this.#end = end;
    if (this.#wanted) this.#give();
  }

  override _read(): void {
    this.#give();
  }

  #give(): void {
    const frame = this.#frames.shift();
    this.#wanted = frame === undefined && this.#end === undefined;
    if (frame !== undefined) {
      this.push(frame.data);
      this.#taken(frame);
    } else if (this.#end === 'exit') {
      this.push(null);
    } else if (this.#end !== undefined) {
      // Destroying drops what is buffered: not before that was read. Pushing nothing asks to be called again.
      if (this.readableLength === 0) this.destroy(this.#end);
      else this.push(NOTHING);
    }
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    for (let frame = this.#frames.shift(); frame !== undefined; frame = this.#frames.shift()) this.#taken(frame);
    this.#onClose();
    callback(error);
  }
}

/**
 * The output as two Readables, each at its reader's pace. They share one credit: a stream that nobody reads holds what
 * arrived for it, and when that fills the credit the other one waits too; destroy the one that is not wanted. An error
 * reaches each after what came before it was read. Destroying both before the end calls `stop`.
 *
 * A stream that cannot be claimed is given as two Readables destroyed with `invalid` / `already_consumed`.
 */
export function commandReadables(stream: CommandStream, stop: () => void): { stdout: Readable; stderr: Readable } {
  let reader: FrameReader | undefined;
  let ended = false;
  const taken = (frame: OutputFrame) => reader?.taken(frame);
  const onClose = () => {
    if (!ended && stdout.destroyed && stderr.destroyed) stop();
  };
  const stdout = new OutputReadable(taken, onClose);
  const stderr = new OutputReadable(taken, onClose);
  try {
    reader = stream.claim();
  } catch (error) {
    ended = true;
    stdout.destroy(error as SandboxError);
    stderr.destroy(error as SandboxError);
    return { stdout, stderr };
  }
  const source = reader;
  const pump = () => {
    for (let item = source.read(); item !== undefined; item = source.read()) {
      if (item.type === 'stdout') stdout.offer(item);
      else if (item.type === 'stderr') stderr.offer(item);
      else {
        ended = true;
        const end = item.type === 'error' ? item.error : 'exit';
        stdout.finish(end);
        stderr.finish(end);
      }
    }
  };
  source.onReadable(pump);
  pump();
  return { stdout, stderr };
}
