import type { KeeperLimits } from './limits.js';

/**
 * When the output of a command whose leader has exited is complete. A background process may hold the pipes for ever,
 * and Node may tell of the exit before the last bytes were read, so: at EOF of all pipes, or after some silence, or
 * after some bytes or time.
 */
export class OutputEnd {
  #silence: NodeJS.Timeout | undefined;
  #longest: NodeJS.Timeout | undefined;
  #bytes = { stdout: 0, stderr: 0 };
  #reads = 0;
  #done = false;

  constructor(
    private readonly limits: Pick<KeeperLimits, 'silenceMs' | 'drainMs' | 'drainBytes'>,
    /** Called once. */
    private readonly ended: () => void,
  ) {
    this.#longest = setTimeout(() => this.#afterNextPoll(() => true), limits.drainMs);
    this.#waitForSilence();
  }

  /** Bytes were read. */
  data(stream: 'stdout' | 'stderr', bytes: number): void {
    if (this.#done) return;
    this.#reads += 1;
    this.#bytes[stream] += bytes;
    // A pipe holds at most this much, so all of what the leader wrote to this one has been read; the other one is
    // read in the same turn or the next.
    if (this.#bytes[stream] >= this.limits.drainBytes) this.#afterNextPoll(() => true);
    else this.#silence?.refresh();
  }

  /** All pipes are at their end, or no more is wanted. */
  finish(): void {
    if (this.#done) return;
    this.#done = true;
    clearTimeout(this.#silence);
    clearTimeout(this.#longest);
    this.ended();
  }

  #waitForSilence(): void {
    this.#silence = setTimeout(() => {
      const reads = this.#reads;
      this.#afterNextPoll(() => this.#reads === reads);
    }, this.limits.silenceMs);
  }

  /** A timer may be due before a poll that would have found bytes, when the loop was busy: polls come first. */
  #afterNextPoll(still: () => boolean): void {
    setImmediate(() =>
      setImmediate(() => {
        if (still()) this.finish();
      }),
    );
  }
}
