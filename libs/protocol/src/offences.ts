import type { Clock } from './clock.js';

/** Counts what a peer does wrong and says when it was too often within a window. */
export class Offences {
  /** The times of the last ones, oldest first. */
  private times: number[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly limit: number,
    private readonly windowMs: number,
  ) {}

  /** Those of the current window, as of the last one. */
  get count(): number {
    return this.times.length;
  }

  /** Counts one; true once `limit` of them lie within the window. */
  add(): boolean {
    const now = this.clock.now();
    this.times.push(now);
    if (now - (this.times[0] as number) > this.windowMs)
      this.times = this.times.filter((at) => now - at <= this.windowMs);
    return this.times.length >= this.limit;
  }

  clear(): void {
    this.times = [];
  }
}
