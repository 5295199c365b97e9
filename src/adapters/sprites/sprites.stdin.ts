import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '#libs/contract';
import { Deadline } from '../common/deadline.js';
import { socketTimeoutMs, type SpritesClient } from './sprites.client.js';
import type { SpriteProcess } from './sprites.process.js';
import { attachProcess } from './sprites.start-process.js';

/** How long after its connection the end of a command may be heard of. */
const ENDING_MS = 3_000;

/** The stdin of a command as its channel has it. */
export interface StdinChannel {
  write(data: Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
}

/** Of the connection that the command was started with. */
export function stdinOf(process: SpriteProcess): StdinChannel {
  return {
    write: (data) => process.write(data),
    closeStdin: () => process.closeStdin(),
  };
}

/** A connection for input alone. */
export async function attachStdin(client: SpritesClient, name: string, pid: string): Promise<SpriteProcess> {
  const deadline = new Deadline(socketTimeoutMs(client));
  try {
    return await attachProcess(client, { name, pid, tty: false }, { output: () => {}, closed: () => {} }, deadline);
  } finally {
    deadline[Symbol.dispose]();
  }
}

/**
 * Of a session that survives its connection. The service does not say what of the input has arrived: a connection that
 * is lost before anything was written is replaced, after that its stdin is over, until somebody attaches again.
 *
 * A write resolves when the network has taken it, which is not yet the pipe of the process.
 */
export class SessionStdin implements StdinChannel {
  #process: SpriteProcess | undefined;
  #wrote = false;
  readonly #attach: () => Promise<SpriteProcess>;
  readonly #check: () => void;
  readonly #release: () => void;
  readonly #ended: Promise<unknown>;

  /**
   * @param process the connection at first
   * @param attach makes another one
   * @param check throws when stdin belongs to another attach
   * @param release called at its end
   * @param ended settles with the command
   */
  constructor(
    process: SpriteProcess | undefined,
    attach: () => Promise<SpriteProcess>,
    check: () => void,
    release: () => void,
    ended: Promise<unknown>,
  ) {
    this.#process = process;
    this.#attach = attach;
    this.#check = check;
    this.#release = release;
    this.#ended = Promise.allSettled([ended]);
  }

  write(data: Uint8Array): Promise<void> {
    return this.#with((process) => process.write(data));
  }

  closeStdin(): Promise<void> {
    return this.#with((process) => process.closeStdin());
  }

  close(): void {
    this.#release();
    this.#process?.close();
  }

  async #with(work: (process: SpriteProcess) => Promise<void>): Promise<void> {
    this.#check();
    if (!this.#process?.isOpen) {
      if (this.#wrote) return this.#lost(interrupted('none'));
      this.#process = await this.#attach().catch((error: unknown) => this.#lost(error));
    }
    this.#wrote = true;
    const process = this.#process;
    await work(process).catch((error: unknown) =>
      process.isOpen ? Promise.reject(error) : this.#lost(interrupted('unknown')),
    );
  }

  /** The connection may be lost because the command ended, which its output says a little later. */
  async #lost(failure: unknown): Promise<never> {
    await Promise.race([this.#ended, delay(ENDING_MS, undefined, { ref: false })]);
    // By now a write that the end of the command answers was answered.
    await delay(0);
    throw failure;
  }
}

function interrupted(effect: 'none' | 'unknown'): SandboxError {
  return new SandboxError('unavailable', {
    effect,
    message: 'the connection to stdin was lost, and how much of the input arrived is not known: attach again',
  });
}
