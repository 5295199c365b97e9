import { abortedError } from './aborted.js';
import { toBytes } from './bytes.js';
import { checkOptions } from './check-options.js';
import { checkSignal } from './checks.js';
import type { CommandChannel } from './command-channel.js';
import type { CommandStream } from './command-stream.js';
import type { Bytes, CallOptions } from './operations.js';
import type { SandboxEffect } from './error-codes.js';
import { SandboxError } from './sandbox-error.js';

/** The most that one request carries. */
const MAX_PIECE_BYTES = 256 * 1024;

/** One call in the queue. */
interface Turn {
  readonly signal: AbortSignal | undefined;
  /** Its signal fired, or the command ended. */
  isOver(): boolean;
  /** From here on its effect is not known. */
  begin(): void;
  resolve(): void;
  reject(error: unknown): void;
}

interface Write {
  readonly bytes: Uint8Array;
  /** Nothing was under way when it came, so that it waits for nobody. */
  readonly isFirst: boolean;
  readonly turn: Turn;
}

/**
 * The stdin of one command. Calls run one after the other, writes that wait go together as far as they fit into one
 * request; the end of the command ends those that wait, whether or
 * not the channel ever answers them.
 *
 * A call is refused by the first of: the command ended, stdin is not open, stdin is closed, the signal fired.
 */
export class StdinQueue {
  readonly #stream: CommandStream;
  readonly #channel: CommandChannel;
  readonly #isOpen: boolean;
  readonly #waiting = new Set<() => void>();
  /** Of which nothing was sent yet. */
  readonly #writes: Write[] = [];
  /** Asked for and not done. */
  #turns = 0;
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
    const signal = checkSignal(checkOptions('writeStdin', options).signal);
    if (this.#stream.end !== undefined) throw this.#endError('none');
    this.#checkOpen();
    if (this.#closing) throw refusal('stdin_closed', 'stdin was closed');
    return this.#inTurn(signal, (turn) => {
      const write = { bytes, turn, isFirst: this.#turns === 0 };
      this.#writes.push(write);
      return () => this.#carry(write);
    });
  }

  async close(options?: CallOptions): Promise<void> {
    const signal = checkSignal(checkOptions('closeStdin', options).signal);
    const { end } = this.#stream;
    if (end instanceof SandboxError) throw this.#endError('none');
    if (end !== undefined) return;
    this.#checkOpen();
    if (!this.#closing) {
      this.#closing = this.#inTurn(signal, (turn) => () => this.#end(turn)).catch((error: unknown) => {
        if (this.#hasExited()) return;
        // A close that failed can be tried again.
        this.#closing = undefined;
        throw error;
      });
    }
    return this.#closing;
  }

  /** Runs what `enter` gives after all that was asked before. Rejects early when the signal fires or the command ends. */
  #inTurn(signal: AbortSignal | undefined, enter: (turn: Turn) => () => Promise<void>): Promise<void> {
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
      this.#waiting.add(end);
      signal?.addEventListener('abort', abort);
      const run = enter({
        signal,
        isOver: () => over,
        begin: () => (sent = true),
        resolve: () => settle(resolve),
        reject: (error) => settle(() => reject(error)),
      });
      this.#turns += 1;
      this.#last = this.#last.then(run).finally(() => (this.#turns -= 1));
    });
  }

  /** Sends a write with those behind it that fit, unless one before has taken it along. */
  async #carry(write: Write): Promise<void> {
    if (this.#writes[0] !== write) return;
    const writes = this.#takeWrites();
    for (const { turn } of writes) turn.begin();
    try {
      await this.#send(writes);
      for (const { turn } of writes) turn.resolve();
    } catch (error) {
      for (const { turn } of writes) turn.reject(error);
    }
  }

  /** The first and what goes with it, without those that are over. */
  #takeWrites(): Write[] {
    const taken: Write[] = [];
    let bytes = 0;
    for (let next = this.#writes[0]; next !== undefined; next = this.#writes[0]) {
      if (!next.turn.isOver()) {
        bytes += next.bytes.byteLength;
        if (taken.length > 0 && (taken[0]!.isFirst || bytes > MAX_PIECE_BYTES)) break;
        taken.push(next);
      }
      this.#writes.shift();
    }
    return taken;
  }

  async #send(writes: readonly Write[]): Promise<void> {
    const isOver = (): boolean => writes.every(({ turn }) => turn.isOver());
    const bytes = writes.length === 1 ? writes[0]!.bytes : Buffer.concat(writes.map((write) => write.bytes));
    // Of several none may call off what is the others' too.
    const signal = writes.length === 1 ? writes[0]!.turn.signal : undefined;
    for (let at = 0; at < bytes.byteLength && !isOver(); at += MAX_PIECE_BYTES) {
      const writing = this.#channel.write(bytes.subarray(at, at + MAX_PIECE_BYTES), { signal });
      await (at === 0 ? writing : writing.catch(failAfterPart));
    }
  }

  async #end(turn: Turn): Promise<void> {
    if (turn.isOver()) return;
    turn.begin();
    try {
      await this.#channel.closeStdin({ signal: turn.signal });
      turn.resolve();
    } catch (error) {
      turn.reject(error);
    }
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
function exitedError(effect: SandboxEffect): SandboxError {
  return new SandboxError('command_exited', { effect, message: 'the command has exited' });
}

function refusal(detail: 'stdin_not_open' | 'stdin_closed', message: string): SandboxError {
  return new SandboxError('invalid', { detail, message, effect: 'none' });
}
