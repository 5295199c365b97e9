import { SandboxError } from '#libs/contract/core';
import type { Clock } from './clock.js';
import type { Socket } from './socket.js';
import type { Subscriber } from './subscriber.js';

/** Holds the whole socket back for subscribers that are slow, where nothing else can: briefly, since pings wait too. */
export class SocketPause {
  private readonly slow = new Set<Subscriber>();
  private cancel: (() => void) | undefined;
  private changes = 0;

  constructor(
    private readonly socket: Socket,
    private readonly clock: Clock,
    private readonly maxMs: number,
  ) {}

  /** Grows whenever the socket is paused or resumed; odd while it is paused. */
  get phase(): number {
    return this.changes;
  }

  add(subscriber: Subscriber): void {
    this.slow.add(subscriber);
    if (this.cancel) return;
    this.changes++;
    this.socket.pause();
    this.cancel = this.clock.after(this.maxMs, () => this.giveUp());
  }

  delete(subscriber: Subscriber): void {
    this.slow.delete(subscriber);
    if (this.slow.size === 0) this.resume();
  }

  private giveUp(): void {
    const late = [...this.slow];
    this.slow.clear();
    this.resume();
    for (const subscriber of late) {
      subscriber.fail(
        new SandboxError('unavailable', {
          detail: 'slow_consumer',
          message: `the output was not taken within ${this.maxMs} ms, and this runner cannot be held back longer`,
        }),
      );
    }
  }

  private resume(): void {
    if (!this.cancel) return;
    this.cancel();
    this.cancel = undefined;
    this.changes++;
    this.socket.resume();
  }
}
