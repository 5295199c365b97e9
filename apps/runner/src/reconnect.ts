import type { Clock } from '#libs/protocol';

export interface ReconnectLimits {
  /** The delay before the first redial lies between 0 and this. @default 15 s */
  readonly baseMs: number;
  /** No delay is longer. @default 30 s */
  readonly capMs: number;
  /** A link that was up this long starts over; one that is accepted and dropped does not. @default 60 s */
  readonly stableMs: number;
}

export const RECONNECT_LIMITS: ReconnectLimits = Object.freeze({ baseMs: 15_000, capMs: 30_000, stableMs: 60_000 });

/**
 * When to dial again. Every delay is drawn from a window that is `baseMs` wide and ends at a bound that doubles up to
 * `capMs`; the jitter comes after the cap. After a restart of the platform a whole fleet redials at once, so that the
 * window's width is what keeps any second from holding too many of it.
 */
export class Reconnect {
  private losses = 0;
  private openedAt: number | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly random: () => number = Math.random,
    private readonly limits: ReconnectLimits = RECONNECT_LIMITS,
  ) {}

  /** The platform accepted the link. */
  opened(): void {
    this.openedAt = this.clock.now();
  }

  /** The link was lost, or could not be had: milliseconds until the next dial. */
  nextDelayMs(): number {
    const { baseMs, capMs, stableMs } = this.limits;
    if (this.openedAt !== undefined && this.clock.now() - this.openedAt >= stableMs) this.losses = 0;
    this.openedAt = undefined;
    const bound = Math.min(capMs, baseMs * 2 ** this.losses);
    if (bound < capMs) this.losses++;
    return Math.round(bound - this.random() * baseMs);
  }
}
