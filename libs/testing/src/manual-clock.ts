import type { Clock } from '#libs/protocol';

interface Timer {
  readonly at: number;
  readonly fn: () => void;
}

/** Time for tests: stands still until it is advanced. */
export class ManualClock implements Clock {
  private time = 0;
  private readonly timers = new Set<Timer>();

  now(): number {
    return this.time;
  }

  after(ms: number, fn: () => void): () => void {
    const timer = { at: this.time + Math.max(0, ms), fn };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  }

  /** Fires what falls due on the way, in the order of the times, and what that schedules, synchronously. */
  advance(ms: number): void {
    const end = this.time + ms;
    for (let timer = this.next(end); timer !== undefined; timer = this.next(end)) {
      this.timers.delete(timer);
      this.time = Math.max(this.time, timer.at);
      timer.fn();
    }
    this.time = end;
  }

  /**
   * As `advance`, in steps of at most `stepMs`, giving sockets and promises a turn after each: for code that awaits
   * between two timers.
   */
  async pass(ms: number, stepMs = 1_000): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.advance(Math.min(left, stepMs));
      await new Promise(setImmediate);
    }
  }

  /** How many timers are waiting. */
  get pending(): number {
    return this.timers.size;
  }

  private next(until: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.timers)
      if (timer.at <= until && (first === undefined || timer.at < first.at)) first = timer;
    return first;
  }
}
