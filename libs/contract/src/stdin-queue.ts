import { abortedError } from './aborted.js';
import { toBytes } from './bytes.js';
import type { CommandChannel } from './command-channel.js';
import type { CommandStream } from './command-stream.js';
import { operationError } from './operation-error.js';
import type { Bytes, CallOptions } from './operations.js';
import { SandboxError, type SandboxEffect } from './sandbox-error.js';

/** The most that one request carries. */
const MAX_PIECE_BYTES = 256 * 1024;

type StdinCall = 'writeStdin' | 'closeStdin';

/**
 * The stdin of one command. Calls run one after the other; the end of the command ends those that wait, whether or
 * not the channel ever answers them.
 *
 * A call is refused by the first of: the command ended, stdin is not open, stdin is closed, the signal.
 */
export class StdinQueue {
  readonly #provider: string;
  readonly #stream: CommandStream;
  readonly #channel: CommandChannel;
  readonly #open: boolean;
  readonly #waiting = new Set<() => void>();
  #last: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(provider: string, stream: CommandStream, channel: CommandChannel, open: boolean) {
    this.#provider = provider;
    this.#stream = stream;
    this.#channel = channel;
    this.#open = open;
    if (!open) return;
    const end = () => {
      for (const settle of this.#waiting) settle();
    };
    stream.exit.then(end, end);
  }

  async write(data: Bytes, options: CallOptions = {}): Promise<void> {
    const bytes = toBytes('data', data);
    if (this.#stream.end !== undefined) throw this.#endError('writeStdin', 'none');
    if (!this.#open) throw this.#refusal('writeStdin', 'stdin_not_open', 'stdin of this command was not opened');
    if (this.#closing) throw this.#refusal('writeStdin', 'stdin_closed', 'stdin was closed');
    return this.#inTurn('writeStdin', options.signal, async (isOver) => {
      for (let at = 0; at < bytes.byteLength && !isOver(); at += MAX_PIECE_BYTES) {
        await this.#channel.write(bytes.subarray(at, at + MAX_PIECE_BYTES), options);
      }
    });
  }

  async close(options: CallOptions = {}): Promise<void> {
    if (this.#stream.end !== undefined) return this.#closeAfterEnd();
    if (!this.#open) throw this.#refusal('closeStdin', 'stdin_not_open', 'stdin of this command was not opened');
    if (this.#closing) return this.#closing;
    const closing = this.#inTurn('closeStdin', options.signal, () => this.#channel.closeStdin(options));
    this.#closing = closing;
    // A close that failed may be tried again; until it settles, it is closed.
    closing.catch(() => {
      this.#closing = undefined;
    });
    return closing;
  }

  #inTurn(
    call: StdinCall,
    signal: AbortSignal | undefined,
    work: (isOver: () => boolean) => Promise<void>,
  ): Promise<void> {
    if (signal?.aborted) return Promise.reject(this.#aborted(signal, call, 'none'));
    return new Promise((resolve, reject) => {
      let sent = false;
      let over = false;
      const effect = (): SandboxEffect => (sent ? 'unknown' : 'none');
      const settle = (act: () => void) => {
        if (over) return;
        over = true;
        this.#waiting.delete(end);
        signal?.removeEventListener('abort', abort);
        act();
      };
      const end = () =>
        settle(() => {
          if (call === 'closeStdin' && !(this.#stream.end instanceof SandboxError)) resolve();
          else reject(this.#endError(call, effect()));
        });
      const abort = () => settle(() => reject(this.#aborted(signal as AbortSignal, call, effect())));
      this.#waiting.add(end);
      signal?.addEventListener('abort', abort);
      const run = async () => {
        if (over) return;
        sent = true;
        try {
          await work(() => over);
          settle(resolve);
        } catch (error) {
          settle(() => reject(operationError(error, { provider: this.#provider, operation: call, signal })));
        }
      };
      this.#last = this.#last.then(run);
    });
  }

  #closeAfterEnd(): void {
    if (this.#stream.end instanceof SandboxError) throw this.#endError('closeStdin', 'none');
  }

  #endError(operation: StdinCall, effect: SandboxEffect): SandboxError {
    const { end } = this.#stream;
    const context = { provider: this.#provider, operation, effect };
    if (end instanceof SandboxError) return end.with(context);
    return new SandboxError('command_exited', { ...context, message: 'the command has exited' });
  }

  #refusal(operation: StdinCall, detail: 'stdin_not_open' | 'stdin_closed', message: string): SandboxError {
    return new SandboxError('invalid', { provider: this.#provider, operation, detail, message, effect: 'none' });
  }

  #aborted(signal: AbortSignal, operation: StdinCall, effect: SandboxEffect): SandboxError {
    return abortedError(signal, effect, operation).with({ provider: this.#provider });
  }
}
