import { SandboxError, type CallOptions } from '#libs/contract/core';
import type { Clock } from './clock.js';
import type { ProtocolLimits } from './limits.js';
import { commandExited, detached } from './link-errors.js';
import type { RunnerSession } from './link.js';
import type { SessionEntry } from './session-entry.js';
import type { Subscriber } from './subscriber.js';
import { within } from './timers.js';

export interface SubscriptionOptions {
  readonly clock: Clock;
  readonly limits: ProtocolLimits;
  readonly refusal: () => SandboxError | undefined;
}

/** What the caller of `open` holds. */
export class Subscription implements RunnerSession {
  private left = false;
  private stopped: Promise<void> | undefined;

  constructor(
    private readonly entry: SessionEntry,
    private readonly subscriber: Subscriber,
    private readonly name: string,
    private readonly options: SubscriptionOptions,
  ) {}

  get sessionId(): string {
    return this.entry.id;
  }

  taken(bytes: number): void {
    this.subscriber.taken(bytes);
  }

  async write(data: Uint8Array, options?: CallOptions): Promise<void> {
    const { stdinBytes } = this.options.limits;
    if (data.length > stdinBytes) {
      const message = `expected at most ${stdinBytes} bytes of stdin in one write, got ${data.length}`;
      throw new SandboxError('invalid', { detail: 'argument', message });
    }
    const refusal = this.refusal();
    if (refusal) throw refusal;
    if (this.subscriber.state === 'ended') throw commandExited();
    await this.entry.stdin.write(this.subscriber, this.name, data, options);
  }

  async closeStdin(options?: CallOptions): Promise<void> {
    const refusal = this.refusal();
    if (refusal) throw refusal;
    if (this.subscriber.state !== 'ended') await this.entry.stdin.close(this.subscriber, this.name, options);
  }

  stop(): Promise<void> {
    this.stopped ??= this.leave();
    return this.stopped;
  }

  unsubscribe(): void {
    void this.stop();
  }

  /** A daemon that answers nothing, or a write that waits for the process, does not hold up whoever leaves. */
  private leave(): Promise<void> {
    if (this.subscriber.state !== 'ended') this.left = true;
    const { clock, limits } = this.options;
    return within(this.entry.leave(this.subscriber), limits.requestTimeoutMs, clock);
  }

  private refusal(): SandboxError | undefined {
    if (this.left) return detached();
    return this.subscriber.error?.with({ effect: 'none' }) ?? this.options.refusal();
  }
}
