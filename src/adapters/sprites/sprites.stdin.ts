import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError, type CallOptions } from '#libs/contract';
import { withinDeadline } from '../common/deadline.js';
import type { StdinTaken } from '../common/stdin-taken.js';
import { socketTimeoutMs, type SpritesClient } from './sprites.client.js';
import type { SpriteProcess } from './sprites.process.js';
import { attachProcess } from './sprites.start-process.js';

/**
 * The most that is on its way at once. As much fits into the pipe of the shim, so that the service never has to wait
 * for a command that does not read, and goes on to answer pings.
 */
const WINDOW_BYTES = 64 * 1024;
/** How long after its connection the end of a command, or what became of the last write, may be heard of. */
const ENDING_MS = 3_000;
/** How long after a command closed its stdin its end may be heard of, which it may have been closed by. */
const CLOSING_MS = 1_000;

export interface SessionStdinInit {
  /** The connection at first. */
  readonly process: SpriteProcess;
  /** Told by whatever prints the session. */
  readonly taken: StdinTaken;
  /** Settles with the command. */
  readonly ended: Promise<unknown>;
  /** Makes another connection. @default the command ends with its connection */
  readonly attach?: () => Promise<SpriteProcess>;
  /** `check` throws when stdin belongs to another attach. */
  readonly owner?: { readonly check: () => void; readonly release: () => void };
}

/** A connection for input alone. */
export function attachStdin(client: SpritesClient, name: string, pid: string): Promise<SpriteProcess> {
  const sink = { output: () => {}, closed: () => {} };
  return withinDeadline(socketTimeoutMs(client), undefined, (deadline) =>
    attachProcess(client, { name, pid, tty: false }, sink, deadline),
  );
}

/**
 * Of a command without a terminal. A write resolves when the pipe of the process has taken it. A connection that is
 * lost is replaced, unless something was on its way that nobody acknowledges: how much of that arrives stays open, and
 * stdin is over until somebody attaches again. What somebody else had on its way then is taken for the new owner's own:
 * the first writes may resolve that many bytes early.
 */
export class SessionStdin {
  readonly #init: SessionStdinInit;
  readonly #ended: Promise<unknown>;
  #process: SpriteProcess;
  #sentBytes = 0;
  #isUnsure = false;
  #isOver = false;
  #end: () => void = () => {};
  readonly #over = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  constructor(init: SessionStdinInit) {
    this.#init = init;
    this.#process = init.process;
    this.#ended = Promise.allSettled([init.ended]);
  }

  async write(data: Uint8Array, { signal }: CallOptions = {}): Promise<void> {
    for (let at = 0; at < data.byteLength; at += WINDOW_BYTES) {
      if (signal?.aborted) return;
      const writing = this.#write(data.subarray(at, at + WINDOW_BYTES));
      await (at === 0 ? writing : writing.catch(failAfterPart));
    }
  }

  async closeStdin(): Promise<void> {
    const { taken } = this.#init;
    const isClosed = (): boolean => taken.state === 'ended' || taken.state === 'closed';
    const process = await this.#connected();
    if (isClosed()) return;
    await this.#send(process, () => process.closeStdin(), isClosed);
  }

  /** Gives up what is waited for. Any number of times. */
  close(): void {
    this.#isOver = true;
    this.#end();
    this.#init.owner?.release();
    this.#process.close();
  }

  async #write(piece: Uint8Array): Promise<void> {
    const { taken } = this.#init;
    const process = await this.#connected();
    await taken.until(() => taken.state !== undefined, Promise.race([process.whenClosed, this.#ended, this.#over]));
    const refusal = closedBy(taken);
    if (refusal) return this.#fail(refusal, CLOSING_MS);
    const end = Math.max(this.#sentBytes, taken.bytes) + piece.byteLength;
    this.#sentBytes = end;
    const isTaken = (): boolean => taken.bytes >= end;
    await this.#send(
      process,
      () => process.write(piece),
      () => isTaken() || closedBy(taken) !== undefined,
    );
    if (isTaken()) return undefined;
    return this.#fail(closedBy(taken)!.with({ effect: 'unknown' }), CLOSING_MS);
  }

  async #connected(): Promise<SpriteProcess> {
    const { owner, attach } = this.#init;
    owner?.check();
    if (this.#process.isOpen) return this.#process;
    if (this.#isUnsure || !attach) return this.#fail(interrupted('none'), ENDING_MS);
    const process = await attach().catch((error: unknown) => this.#fail(error, ENDING_MS));
    if (this.#isOver) process.close();
    this.#process = process;
    return process;
  }

  /** Sends, and waits until that was acknowledged. */
  async #send(process: SpriteProcess, send: () => Promise<void>, isDone: () => boolean): Promise<void> {
    const { taken } = this.#init;
    const over = Promise.race([this.#ended, this.#over]);
    await send().catch(() => {});
    await taken.until(isDone, Promise.race([process.whenClosed, over]));
    if (isDone()) return;
    // It may have arrived all the same, which a reader of the journal says.
    const patience = new AbortController();
    const late = delay(ENDING_MS, undefined, { signal: patience.signal, ref: false }).catch(() => {});
    await taken.until(isDone, Promise.race([late, over]));
    patience.abort();
    if (isDone()) return;
    this.#isUnsure = true;
    await this.#fail(interrupted('unknown'), 0);
  }

  /** It may be because the command ended, which its output says a little later, and which answers a write. */
  async #fail(failure: unknown, patienceMs: number): Promise<never> {
    await Promise.race([this.#ended, this.#over, delay(patienceMs, undefined, { ref: false })]);
    await delay(0);
    throw failure;
  }
}

function closedBy({ state }: StdinTaken): SandboxError | undefined {
  if (state === undefined || state === 'open') return undefined;
  const whom = state === 'closed' ? 'the process has closed its stdin' : 'its stdin was closed';
  return new SandboxError('write_failed', { effect: 'none', message: `the process took no input: ${whom}` });
}

/** A piece that did nothing is still the end of a write of which a part was taken. */
function failAfterPart(error: unknown): never {
  throw error instanceof SandboxError && error.effect === 'none' ? error.with({ effect: 'unknown' }) : error;
}

function interrupted(effect: 'none' | 'unknown'): SandboxError {
  return new SandboxError('unavailable', {
    effect,
    message: 'the connection to stdin was lost, and how much of the input arrived is not known: attach again',
  });
}
