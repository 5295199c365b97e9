import type { CommandStream, OutputFrame } from '#libs/contract';
import type { SessionExit, SessionSink } from '#libs/protocol';
import { outputLimit, timedOut } from './fake-errors.js';

/** Turns the exit of a command that the machine stopped at its deadline into the error that it is. */
export class ExecSink implements SessionSink {
  readonly #stream: CommandStream;
  readonly #timeoutMs: number | undefined;

  constructor(stream: CommandStream, timeoutMs: number | undefined) {
    this.#stream = stream;
    this.#timeoutMs = timeoutMs;
  }

  frame(frame: OutputFrame | SessionExit): void {
    if (frame.type !== 'exit' || frame.stoppedBy === undefined) return this.#stream.frame(frame);
    const { stoppedBy, gone = false } = frame;
    this.#stream.error(stoppedBy === 'timeout' ? timedOut(this.#timeoutMs, gone) : outputLimit(gone));
  }

  error(error: Parameters<SessionSink['error']>[0]): void {
    this.#stream.error(error);
  }
}
