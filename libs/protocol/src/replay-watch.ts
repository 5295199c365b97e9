import type { Clock } from './clock.js';
import { streamGap } from './link-errors.js';
import type { Subscriber } from './subscriber.js';

/**
 * Whoever was passed by a live frame or exit lives on a replay that brings the bytes between. One that does not go on
 * for `idleMs` will not come: its subscriber ends, so that nobody waits for ever.
 */
export class ReplayWatch {
  private readonly watched = new Map<Subscriber, () => void>();

  constructor(
    private readonly clock: Clock,
    private readonly idleMs: number,
    /** Whether something is still missing. */
    private readonly isBehind: (subscriber: Subscriber) => boolean,
  ) {}

  add(subscriber: Subscriber): void {
    if (!this.watched.has(subscriber)) this.wait(subscriber);
  }

  delete(subscriber: Subscriber): void {
    this.watched.get(subscriber)?.();
    this.watched.delete(subscriber);
  }

  private wait(subscriber: Subscriber): void {
    const { replayed } = subscriber;
    const cancel = this.clock.after(this.idleMs, () => {
      this.watched.delete(subscriber);
      if (!this.isBehind(subscriber)) return;
      if (subscriber.replayed > replayed) this.wait(subscriber);
      else subscriber.fail(streamGap('live output went on without the bytes before it'));
    });
    this.watched.set(subscriber, cancel);
  }
}
