import type { Clock } from './clock.js';
import type { Socket } from './socket.js';

/** Bytes this soon after a probe may have been under way before it was sent. */
const PROBE_SETTLE_MS = 1_000;
const PROBE_POLL_MS = 100;
/** Samples per silence: how late the end of one can be noticed. */
const SAMPLES = 9;

export interface LivenessOptions {
  readonly clock: Clock;
  /** Milliseconds between two pings; the first goes out after one interval. */
  readonly pingIntervalMs: number;
  /** Milliseconds without one byte received after which the peer counts as dead; noticed at most a ninth later. */
  readonly silenceMs: number;
  /** Called once. The owner terminates the socket: a closing handshake would wait for the dead. */
  readonly onDead: () => void;
  /** Called after every regular ping. */
  readonly onPing?: () => void;
}

interface Probe {
  /** The count of pings at which its own was sent. */
  readonly ping: number;
  settle(answered: boolean): void;
}

/**
 * Whether the peer is there. Received bytes are the only evidence for the silence: neither frames, of which a slow
 * link may take minutes to carry one, nor pongs, which queue behind it.
 */
export class Liveness {
  private readonly probes = new Set<Probe>();
  private readonly timers = new Set<() => void>();
  private stopped = false;
  private pings = 0;
  private pongs = 0;
  private bytesSeen: number;
  private sampledAt: number;
  private quietMs = 0;

  constructor(
    private readonly socket: Socket,
    private readonly options: LivenessOptions,
  ) {
    this.bytesSeen = socket.bytesRead;
    this.sampledAt = options.clock.now();
    this.every(options.pingIntervalMs, () => {
      this.ping();
      options.onPing?.();
    });
    const sampleMs = options.silenceMs / SAMPLES;
    this.every(sampleMs, () => this.sample(sampleMs));
  }

  /** The socket received a pong. */
  pong(): void {
    this.pongs = Math.min(this.pongs + 1, this.pings);
    for (const probe of this.probes) if (this.pongs >= probe.ping) probe.settle(true);
  }

  /**
   * Whether the peer answers within `timeoutMs`: by the pong to the ping that is sent here, by a later one, or by
   * bytes received more than a second after it was sent. False once stopped; never rejects.
   */
  probe(timeoutMs: number): Promise<boolean> {
    if (this.stopped) return Promise.resolve(false);
    return new Promise((resolve) => {
      const cancels: (() => void)[] = [];
      const probe: Probe = {
        ping: this.ping(),
        settle: (answered) => {
          if (!this.probes.delete(probe)) return;
          for (const cancel of cancels) cancel();
          resolve(answered);
        },
      };
      this.probes.add(probe);
      const settleIfMore = (than: number): void => {
        if (this.socket.bytesRead > than) probe.settle(true);
        else cancels.push(this.after(PROBE_POLL_MS, () => settleIfMore(than)));
      };
      cancels.push(
        this.after(PROBE_SETTLE_MS, () => {
          // A peer may answer several pings with one pong: this one's answer comes late enough to count as it is.
          this.ping();
          settleIfMore(this.socket.bytesRead);
        }),
        // After a stall of this process the answer may lie unread: sockets get one turn before the verdict.
        this.after(timeoutMs, () => cancels.push(this.after(0, () => probe.settle(false)))),
      );
    });
  }

  /** Ends all timers; pending probes are answered false. Idempotent. */
  stop(): void {
    this.stopped = true;
    for (const probe of this.probes) probe.settle(false);
    for (const cancel of this.timers) cancel();
    this.timers.clear();
  }

  private ping(): number {
    this.socket.ping();
    return ++this.pings;
  }

  private sample(sampleMs: number): void {
    const now = this.options.clock.now();
    const bytes = this.socket.bytesRead;
    // A sample that comes late says that this process stood still, not that the peer was silent all the while.
    this.quietMs = bytes > this.bytesSeen ? 0 : this.quietMs + Math.min(now - this.sampledAt, 2 * sampleMs);
    this.bytesSeen = bytes;
    this.sampledAt = now;
    if (this.quietMs < this.options.silenceMs) return;
    this.stop();
    this.options.onDead();
  }

  private every(ms: number, fn: () => void): void {
    this.after(ms, () => {
      this.every(ms, fn);
      fn();
    });
  }

  private after(ms: number, fn: () => void): () => void {
    if (this.stopped) return () => {};
    const cancel = this.options.clock.after(ms, () => {
      this.timers.delete(cancel);
      fn();
    });
    this.timers.add(cancel);
    return () => {
      this.timers.delete(cancel);
      cancel();
    };
  }
}
