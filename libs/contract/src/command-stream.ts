import { Fifo } from './fifo.js';
import { JoinedFrames } from './joined-frames.js';
import type { Exit, OutputFrame, SandboxFrame } from './frames.js';
import { SandboxError } from './sandbox-error.js';

/** Frames that may wait each by itself. Of what comes then, small ones are joined: any number holds little but its bytes. */
const MAX_APART = 1024;

/** What a reader gets: frames, and as the last item an exit or an error. */
export type StreamItem = SandboxFrame | { readonly type: 'error'; readonly error: SandboxError };

/** Which call gave the command, for its errors. */
export interface StreamSource {
  readonly provider: string;
  readonly operation: 'spawn' | 'attach';
}

/** The one reader's end of a {@link CommandStream}. */
export interface FrameReader {
  /** The next item if one is here. Nothing follows an exit or an error. */
  read(): StreamItem | undefined;
  /** Waits for the next item. One call at a time, and none after the last item. */
  next(): Promise<StreamItem>;
  /** Calls back after every arrival, inside the producer's call; another callback takes its place. */
  onReadable(callback: () => void): void;
  /** `frame` was consumed: the credit it held is free again. */
  taken(frame: OutputFrame): void;
}

/**
 * The queue between whoever produces a command's output and its one reader. It is bounded by the producer's credit:
 * what waits here is what was delivered and not yet taken, and every delivered byte comes back through `onTaken`
 * exactly once, consumed or dropped.
 *
 * The first end counts: an exit frame, `error` or `detach`. What is delivered after it is ignored.
 */
export class CommandStream {
  readonly #items = new Fifo<StreamItem | JoinedFrames>();
  /** The newest of each stream. */
  readonly #joined: Partial<Record<OutputFrame['type'], JoinedFrames>> = {};
  #exit: Promise<Exit> | undefined;
  #settle: { resolve(exit: Exit): void; reject(error: SandboxError): void } | undefined;
  #source: StreamSource | undefined;
  #end: Exit | SandboxError | undefined;
  #detached = false;
  #claimed = false;
  #queuedBytes = 0;
  #outputBytes = 0;
  #unreported = 0;
  #onTaken: ((bytes: number) => void) | undefined;
  #onReadable: (() => void) | undefined;

  constructor(onTaken?: (bytes: number) => void) {
    this.#onTaken = onTaken;
  }

  /** How it ended, as soon as that has arrived, read or not. Claims nothing, never an unhandled rejection. */
  get exit(): Promise<Exit> {
    if (this.#exit !== undefined) return this.#exit;
    this.#exit = new Promise((resolve, reject) => {
      if (this.#end instanceof SandboxError) reject(this.#end);
      else if (this.#end !== undefined) resolve(this.#end);
      else this.#settle = { resolve, reject };
    });
    this.#exit.catch(() => {});
    return this.#exit;
  }

  /** The first end, if it has come. */
  get end(): Exit | SandboxError | undefined {
    return this.#end;
  }

  /** Bytes delivered and not yet taken. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** Bytes delivered before the end, taken or not. */
  get outputBytes(): number {
    return this.#outputBytes;
  }

  /** Sets who is told about taken bytes, at once about those taken before, and what errors name from then on. */
  connect(onTaken: (bytes: number) => void, source?: StreamSource): void {
    this.#onTaken = onTaken;
    this.#source = source;
    if (this.#end instanceof SandboxError) this.#end = this.#named(this.#end);
    const bytes = this.#unreported;
    this.#unreported = 0;
    if (bytes > 0) onTaken(bytes);
  }

  frame(frame: SandboxFrame): void {
    if (this.#end !== undefined) return;
    if (frame.type === 'exit') return this.#exited(frame);
    if (frame.data.byteLength === 0) return;
    this.#queuedBytes += frame.data.byteLength;
    this.#outputBytes += frame.data.byteLength;
    this.#queue(frame);
    this.#onReadable?.();
  }

  error(error: SandboxError): void {
    if (this.#end !== undefined) return;
    const named = this.#named(error);
    this.#fail(named);
    this.#items.push({ type: 'error', error: named });
    this.#onReadable?.();
  }

  /**
   * Drops what waits. The reader ends with `unavailable` / `detached`, and so does `exit` unless the end had come.
   * Idempotent.
   */
  detach(): void {
    if (this.#detached) return;
    this.#detached = true;
    const error = this.#named(detachedError());
    if (this.#end === undefined) this.#fail(error);
    this.#items.clear();
    this.#items.push({ type: 'error', error });
    this.#report(this.#queuedBytes);
    this.#queuedBytes = 0;
    this.#onReadable?.();
  }

  /** @throws {SandboxError} `invalid` / `already_consumed` from the second call on */
  claim(): FrameReader {
    if (this.#claimed) {
      throw this.#named(
        new SandboxError('invalid', {
          detail: 'already_consumed',
          effect: 'none',
          message: 'the output of this command already has its one reader',
        }),
      );
    }
    this.#claimed = true;
    const read = () => {
      const item = this.#items.shift();
      if (item instanceof JoinedFrames) return item.take();
      return item?.type === 'error' ? { ...item, error: this.#named(item.error) } : item;
    };
    return {
      read,
      next: async () => {
        for (;;) {
          const item = read();
          if (item !== undefined) return item;
          await new Promise<void>((wake) => {
            this.#onReadable = wake;
          });
        }
      },
      onReadable: (callback) => {
        this.#onReadable = callback;
      },
      taken: ({ data }) => {
        if (this.#detached) return;
        this.#queuedBytes -= data.byteLength;
        this.#report(data.byteLength);
      },
    };
  }

  #queue(frame: OutputFrame): void {
    if (this.#items.length < MAX_APART || !JoinedFrames.isSmall(frame)) return this.#items.push(frame);
    if (this.#joined[frame.type]?.add(frame)) return undefined;
    const joined = new JoinedFrames(frame);
    this.#joined[frame.type] = joined;
    return this.#items.push(joined);
  }

  /** What the producer's frame says beside the exit is nobody's. */
  #exited({ exitCode, signal, startError }: Exit): void {
    const exit: Exit = {
      exitCode,
      ...(signal !== undefined && { signal }),
      ...(startError !== undefined && { startError }),
    };
    this.#end = exit;
    this.#settle?.resolve(exit);
    this.#items.push({ type: 'exit', ...exit });
    this.#onReadable?.();
  }

  #fail(error: SandboxError): void {
    this.#end = error;
    this.#settle?.reject(error);
  }

  /** What came before the source was known is named when it is read. */
  #named(error: SandboxError): SandboxError {
    const source = this.#source;
    if (source === undefined || error.operation === source.operation) return error;
    // A spawn has had its effect, even if what failed since did nothing.
    const ran = source.operation === 'spawn' && error.effect === 'none' && error.code !== 'invalid';
    return error.with({ ...source, ...(ran && { effect: 'unknown' }) });
  }

  #report(bytes: number): void {
    if (bytes === 0) return;
    if (this.#onTaken) this.#onTaken(bytes);
    else this.#unreported += bytes;
  }
}

/** What a command answers once this end has let go of it. */
export function detachedError(): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'detached',
    effect: 'none',
    message: 'this end was detached from the command',
  });
}
