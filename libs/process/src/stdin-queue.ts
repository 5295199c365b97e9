import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '#libs/contract/core';

/** Milliseconds that an exit may come after the broken pipe that it caused. */
const EXIT_AFTER_EPIPE_MS = 100;

/** A process's stdin: writes go in the order of the calls, each settles once, and none outlives the process. */
export class StdinQueue {
  readonly #pending = new Set<(error: SandboxError) => void>();
  #accepted = 0;
  #applied = 0;
  #last: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | undefined;
  #exited = false;

  constructor(
    private readonly stream: Writable,
    private readonly exit: Promise<void>,
  ) {
    // Without a listener a broken pipe would end the daemon; each write learns of it by its own callback.
    stream.on('error', () => {});
    void exit.then(() => this.#settleAll());
  }

  /**
   * @param offset bytes of stdin before `data`; what lies before the end so far is not written again
   * @throws {SandboxError} see `SessionKeeper.write`
   */
  async write(offset: number | 'next', data: Uint8Array): Promise<{ applied: number }> {
    if (this.#exited) throw commandExited('none');
    const at = offset === 'next' ? this.#accepted : offset;
    if (!Number.isSafeInteger(at) || at < 0) throw new SandboxError('invalid', { detail: 'argument' });
    if (at > this.#accepted) throw new SandboxError('invalid', { detail: 'offset_beyond_end' });
    const fresh = data.subarray(this.#accepted - at);
    if (fresh.length > 0) {
      if (this.#closed) throw new SandboxError('invalid', { detail: 'stdin_closed' });
      this.#accepted += fresh.length;
      this.#last = this.#put(fresh);
    }
    await this.#last;
    return { applied: this.#applied };
  }

  /** EOF after everything that was written. Never rejects. */
  async close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.stream.once('close', resolve);
      this.stream.once('error', () => resolve());
      if (this.stream.destroyed) resolve();
      else this.stream.end(resolve);
    });
    await Promise.race([this.#closed, this.exit]);
  }

  #put(data: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      this.stream.write(data, (error) => {
        if (!error) {
          this.#applied += data.length;
          this.#pending.delete(reject);
          resolve();
        } else void this.#failWrite(reject);
      });
    });
  }

  /** A process that ends breaks its pipe a moment before its exit is known. */
  async #failWrite(reject: (error: SandboxError) => void): Promise<void> {
    await Promise.race([this.exit, delay(EXIT_AFTER_EPIPE_MS)]);
    const closed = new SandboxError('write_failed', { message: 'the process has closed its stdin' });
    this.#settle(reject, this.#exited ? commandExited('unknown') : closed);
  }

  #settle(reject: (error: SandboxError) => void, error: SandboxError): void {
    if (this.#pending.delete(reject)) reject(error);
  }

  #settleAll(): void {
    this.#exited = true;
    for (const reject of this.#pending) this.#settle(reject, commandExited('unknown'));
    this.stream.destroy();
  }
}

/** Of a write that had begun, the process may have read a part. */
function commandExited(effect: 'none' | 'unknown'): SandboxError {
  return new SandboxError('command_exited', { effect, message: 'the process has ended' });
}
