import { abortedError } from './aborted.js';
import { toBytes } from './bytes.js';
import { checkSignal } from './checks.js';
import type { CommandChannel } from './command-channel.js';
import type { CommandStream } from './command-stream.js';
import type { Bytes, CallOptions } from './operations.js';
import type { SandboxEffect } from './error-codes.js';
import { SandboxError } from './sandbox-error.js';

/** The most that one request carries. */
const MAX_PIECE_BYTES = 256 * 1024;

/**
 * The stdin of one command. Calls run one after the other; the end of the command ends those that wait, whether or
 * not the channel ever answers them.
 *
 * A call is refused by the first of: the command ended, stdin is not open, stdin is closed, the signal fired.
 */
export class StdinQueue {
  readonly #stream: CommandStream;
  readonly #channel: CommandChannel;
  readonly #isOpen: boolean;
  readonly #waiting = new Set<() => void>();
  #last: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(stream: CommandStream, channel: CommandChannel, isOpen: boolean) {
    this.#stream = stream;
    this.#channel = channel;
    this.#isOpen = isOpen;
    if (!isOpen) return;
    // A turn later: the answer to a write may have come in together with the exit.
    const end = () => {
      if (this.#waiting.size > 0) setImmediate(() => this.#waiting.forEach((settle) => settle()));
    };
    stream.exit.then(end, end);
  }

  async write(data: Bytes, options?: CallOptions): Promise<void> {
    const bytes = toBytes('data', data);
    const signal = checkSignal(options?.signal);
    if (this.#stream.end !== undefined) throw this.#endError('none');
    this.#checkOpen();
    if (this.#closing) throw refusal('stdin_closed', 'stdin was closed');
    return this.#inTurn(signal, async (isOver) => {
      for (let at = 0; at < bytes.byteLength && !isOver(); at += MAX_PIECE_BYTES) {
        const writing = this.#channel.write(bytes.subarray(at, at + MAX_PIECE_BYTES), { signal });
        await (at === 0 ? writing : writing.catch(failAfterPart));
      }
    });
  }

  async close(options?: CallOptions): Promise<void> {
    const signal = checkSignal(options?.signal);
    const { end } = this.#stream;
    if (end instanceof SandboxError) throw this.#endError('none');
    if (end !== undefined) return;
    this.#checkOpen();
    if (!this.#closing) {
      this.#closing = this.#inTurn(signal, () => this.#channel.closeStdin({ signal })).catch((error: unknown) => {
        if (this.#hasExited()) return;
        // A close that failed can be tried again.
        this.#closing = undefined;
        throw error;
      });
    }
    return this.#closing;
  }

  /** Runs `work` after all that was asked before. Rejects early when the signal fires or the command ends. */
  #inTurn(signal: AbortSignal | undefined, work: (isOver: () => boolean) => Promise<void>): Promise<void> {
    if (signal?.aborted) return Promise.reject(abortedError(signal, 'none'));
    return new Promise((resolve, reject) => {
      let sent = false;
      let over = false;
      const settle = (outcome: () => void) => {
        if (over) return;
        over = true;
        this.#waiting.delete(end);
        signal?.removeEventListener('abort', abort);
        outcome();
      };
      const effect = () => (sent ? 'unknown' : 'none');
      const end = () => settle(() => reject(this.#endError(effect())));
      const abort = () => settle(() => reject(abortedError(signal as AbortSignal, effect())));
      const run = async () => {
        if (over) return;
        sent = true;
        try {
          await work(() => over);
          settle(resolve);
        } catch (error) {
          settle(() => reject(error));
        }
      };
      this.#waiting.add(end);
      signal?.addEventListener('abort', abort);
      this.#last = this.#last.then(run);
    });
  }

  #checkOpen(): void {
    if (!this.#isOpen) throw refusal('stdin_not_open', 'stdin of this command was not opened');
  }

  #hasExited(): boolean {
    const { end } = this.#stream;
    return end !== undefined && !(end instanceof SandboxError);
  }

  #endError(effect: SandboxEffect): SandboxError {
    const { end } = this.#stream;
    return end instanceof SandboxError ? end.with({ effect }) : exitedError(effect);
  }
}

/** A piece that did nothing is still the end of a write of which a part was taken. */
function failAfterPart(error: unknown): never {
  throw error instanceof SandboxError && error.effect === 'none' ? error.with({ effect: 'unknown' }) : error;
}

/** What stdin answers once the process is gone. */
export function exitedError(effect: SandboxEffect): SandboxError {
  return new SandboxError('command_exited', { effect, message: 'the command has exited' });
}

function refusal(detail: 'stdin_not_open' | 'stdin_closed', message: string): SandboxError {
  return new SandboxError('invalid', { detail, message, effect: 'none' });
}
