import type { Readable, Writable } from 'node:stream';
import type { Observable } from 'rxjs';
import type { Exit, OutputFrame, SandboxFrame, TerminalSize } from './frames.js';
import type { SandboxHandle } from './handle.js';
import type { Bytes, CallOptions } from './operations.js';

/**
 * A running process as seen from here. Its output has exactly one end: an `exit` frame and completion, or an error
 * with a `SandboxError`, never both.
 *
 * It has one reader: the first of `frames$`, `forEach`, `streams()`, `drain()` or the iterator to start claims the
 * output, a second gets `invalid` / `already_consumed`. What came before is kept, within the bound that stops the
 * process from running ahead. `exit` claims nothing: without a reader it settles only if the output fits that bound.
 */
export interface SandboxCommand extends AsyncIterable<SandboxFrame>, AsyncDisposable {
  readonly provider: string;
  /** Names this command in logs and errors; unique in this process. */
  readonly ref: string;
  readonly handle: SandboxHandle;
  /** The provider's id, for `attach`; absent where there is none. */
  readonly sessionId?: string;

  /** Bytes of output that have arrived here, of both streams, read or not. */
  readonly outputBytes: number;

  /**
   * For consumers that keep up: an Observable cannot push back, so credit returns when `next` returns. No frame is
   * delivered before `subscribe` has returned. Unsubscribing detaches, as `stop()` does.
   */
  readonly frames$: Observable<SandboxFrame>;

  /**
   * Calls `sink` with one output frame after the other, waiting for each; credit returns as it does.
   *
   * @throws {SandboxError} what ended the stream without an exit; `invalid` / `already_consumed`; `unavailable` /
   *   `detached`. What `sink` throws is passed on as it is, after detaching.
   */
  forEach(sink: (frame: OutputFrame) => void | PromiseLike<void>): Promise<Exit>;

  /** Both streams as Readables that read no further than they are read. An error destroys both. */
  streams(): { stdout: Readable; stderr: Readable };

  /** Reads and drops everything. */
  drain(): Promise<Exit>;

  /** How it ended. Never an unhandled rejection. */
  readonly exit: Promise<Exit>;

  /** Present while stdin was opened; ends it with `end()`. */
  readonly stdin?: Writable | undefined;

  /**
   * Resolves when the process's pipe took the data. Calls are executed in their order.
   *
   * @throws {SandboxError} `command_exited`; `write_failed`; `invalid` / `stdin_not_open`, `stdin_closed`;
   *   `unavailable` / `detached`
   */
  writeStdin(data: Bytes, options?: CallOptions): Promise<void>;

  /** EOF after everything that was written before. Succeeds after exit, and twice. */
  closeStdin(options?: CallOptions): Promise<void>;

  /** Does nothing after exit. @throws {SandboxError} `not_supported` without a terminal */
  resize(size: TerminalSize): Promise<void>;

  /** Detaches this end only, idempotent; `exit` and stdin then reject `unavailable` / `detached`. */
  stop(): Promise<void>;
}
