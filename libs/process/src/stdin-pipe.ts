import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { errnoOf } from './errors.js';

/** Milliseconds between two looks for who opens stdin after its end; they double up to the longest. */
const FIRST_LOOK_MS = 10;
const LONGEST_LOOK_MS = 1_000;

/** Nobody reads it; or it has gone together with the root. */
const NOBODY: ReadonlySet<string | undefined> = new Set(['ENXIO', 'ENOENT', 'ENOTDIR']);

/**
 * Our end of a child's stdin: a FIFO, since Node's own `'pipe'` is a socket, which `bash /dev/stdin` cannot open.
 *
 * On Linux that opens the FIFO anew, and such an open waits for a writer. So after the end of stdin, as long as
 * somebody has the other end, we open ours for a moment now and then: who waited then finds the end.
 */
export class StdinPipe {
  readonly stream: Socket;
  #timer: NodeJS.Timeout | undefined;
  #released = false;

  /** Takes over `fd`, which writes to the FIFO under `path`; that name is removed when nobody needs it any more. */
  constructor(
    fd: number,
    private readonly path: string,
  ) {
    try {
      this.stream = new Socket({ fd, readable: false, writable: true });
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    this.stream.once('close', () => this.#lookAfter(FIRST_LOOK_MS));
  }

  /** Closes it for good. Idempotent. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    clearTimeout(this.#timer);
    this.stream.destroy();
    rmSync(this.path, { force: true });
  }

  #lookAfter(ms: number): void {
    if (this.#released) return;
    this.#timer = setTimeout(() => {
      if (hasReader(this.path)) this.#lookAfter(Math.min(LONGEST_LOOK_MS, ms * 2));
      else this.release();
    }, ms).unref();
  }
}

/** Whether a process has the FIFO open, or waits to. One that waits goes on. */
function hasReader(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (error) {
    // Of anything else it cannot be told.
    return !NOBODY.has(errnoOf(error));
  }
}
