import { closeSync } from 'node:fs';
import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net';
import { HEADER_BYTES, MAX_RECORD_DATA } from './journal-record.js';

// One buffer for all pipes: what was read is handed on, and taken, within the same call. It leaves room for the header
// of a journal record, so that header and bytes are written at once.
const BLOCK = new Uint8Array(HEADER_BYTES + MAX_RECORD_DATA);
const BLOCK_VIEW = new DataView(BLOCK.buffer);

export interface OutputPipeEvents {
  /** The bytes read begin at `HEADER_BYTES` of `block`, which is only valid during the call. */
  data(block: Uint8Array, view: DataView): void;
  /** No process has the other end any more, or it can be read no longer: then `error` came before. */
  end(): void;
  /** What was written cannot be read: the output is not whole. */
  error(error: Error): void;
}

/** Our end of a child's output. */
export class OutputPipe {
  readonly #socket: Socket;
  #ended = false;
  #paused = false;

  constructor(fd: number, events: OutputPipeEvents) {
    const options: SocketConstructorOpts & { onread: OnReadOpts } = {
      fd,
      readable: true,
      writable: false,
      onread: {
        buffer: BLOCK.subarray(HEADER_BYTES),
        callback: (length) => {
          events.data(BLOCK.subarray(0, HEADER_BYTES + length), BLOCK_VIEW);
          return true;
        },
      },
    };
    try {
      this.#socket = new Socket(options);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    const end = () => {
      if (this.#ended) return;
      this.#ended = true;
      events.end();
    };
    this.#socket.on('end', end);
    this.#socket.on('close', end);
    this.#socket.on('error', (error) => events.error(error));
  }

  get ended(): boolean {
    return this.#ended;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Stops reading, so that the process blocks once the pipe is full. */
  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket.resume();
  }

  /** Closes our end: whoever still writes gets SIGPIPE. */
  destroy(): void {
    this.#socket.destroy();
  }
}
