/** Monotonic time and timers, so that tests can own both. */
export interface Clock {
  /** Milliseconds on a clock that never jumps. */
  now(): number;
  /** Calls `fn` once after `ms`; the returned function cancels. The timer does not keep the process alive. */
  after(ms: number, fn: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
