import type { Clock } from './clock.js';

/** A clock whose timers end together with their owner. */
export class Timers implements Clock {
  private readonly cancels = new Set<() => void>();

  constructor(private readonly clock: Clock) {}

  get size(): number {
    return this.cancels.size;
  }

  now(): number {
    return this.clock.now();
  }

  after(ms: number, fn: () => void): () => void {
    const cancel = this.clock.after(ms, () => {
      this.cancels.delete(cancel);
      fn();
    });
    this.cancels.add(cancel);
    return () => {
      this.cancels.delete(cancel);
      cancel();
    };
  }

  clear(): void {
    for (const cancel of this.cancels) cancel();
    this.cancels.clear();
  }
}

/** Resolves with `promise`, which never rejects, or after `ms`. */
export async function within(promise: Promise<void>, ms: number, clock: Clock): Promise<void> {
  let cancel!: () => void;
  const expired = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  await Promise.race([promise, expired]);
  cancel();
}
