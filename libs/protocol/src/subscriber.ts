import type { SandboxError, StreamOffsets } from '#libs/contract/core';
import { beyondEnd, detached, streamGap } from './link-errors.js';
import type { SessionExit, SessionSink } from './link.js';

export type OutputStream = 'stdout' | 'stderr';

/** Bytes delivered and not taken: from when on a subscriber is too slow, and until when. */
export interface QueueMarks {
  readonly highBytes: number;
  readonly lowBytes: number;
}

/** Who follows what becomes of a subscriber. */
export interface SubscriberOwner {
  /** Its queue reached the high mark. */
  slow(subscriber: Subscriber): void;
  /** Its queue, once too long, is down to the low mark. */
  drained(subscriber: Subscriber): void;
  /** A live frame went past what it has. */
  behind(subscriber: Subscriber): void;
  /** Nothing is delivered to it any more. */
  ended(subscriber: Subscriber): void;
  /** Its sink threw. */
  failed(error: unknown): void;
}

/** One listener of a session: delivers each byte of both streams once, in order, and one end. */
export class Subscriber {
  /** `off`: what comes is discarded, since an attach from `next` will bring it again. */
  state: 'on' | 'off' | 'ended' = 'on';
  /** Why it ended, unless by an exit or because the listener left. */
  error: SandboxError | undefined;
  queuedBytes = 0;
  /** Frames of its replays so far. */
  replayed = 0;
  /** Where it asked to begin, of a daemon that cannot say whether there is such a byte. */
  asked: StreamOffsets | undefined;
  private slow = false;
  /** How far each stream went by. */
  private readonly seen = { stdout: 0, stderr: 0 };
  /** Streams in which a live frame has connected to what was delivered: there the replay is over. */
  private readonly live = { stdout: false, stderr: false };

  constructor(
    private readonly sink: SessionSink,
    private readonly marks: QueueMarks,
    private readonly owner: SubscriberOwner,
    /** The request whose replay it listens to. */
    public tag: number,
    /** The bytes it needs next; undefined: whatever the next live frame brings. */
    public next: { stdout: number; stderr: number } | undefined,
  ) {}

  /** For one that waits for the next live frame: the streams are at `position` before it. */
  startAt(position: StreamOffsets): void {
    this.next ??= { ...position };
  }

  /** Without a replay to come, a frame beyond `next` is a gap from the beginning. */
  goLive(): void {
    this.live.stdout = true;
    this.live.stderr = true;
  }

  /** `tagged`: of its own replay, otherwise live. */
  output(stream: OutputStream, offset: number, data: Uint8Array, tagged: boolean): void {
    const { next } = this;
    if (this.state !== 'on' || next === undefined) return;
    if (tagged) this.replayed++;
    const end = offset + data.length;
    this.seen[stream] = Math.max(this.seen[stream], end);
    if (offset > next[stream]) {
      // A live frame ahead of its replay comes again in it.
      if (tagged || this.live[stream]) return this.fail(streamGap(`${stream}: byte ${next[stream]} is missing`));
      return this.owner.behind(this);
    }
    if (!tagged && (offset === next[stream] || end > next[stream])) this.live[stream] = true;
    if (end <= next[stream]) return;
    const rest = offset === next[stream] ? data : data.subarray(next[stream] - offset);
    const frame = { type: stream, data: rest, offset: next[stream] };
    next[stream] = end;
    this.queuedBytes += rest.length;
    this.call(() => this.sink.frame(frame));
    if (this.queuedBytes < this.marks.highBytes || this.slow || !this.isOn()) return;
    this.slow = true;
    this.owner.slow(this);
  }

  /** Whether everything up to `end` was delivered, so that an exit there is its end too. */
  caughtUp(end: StreamOffsets): boolean {
    return this.next === undefined || (this.next.stdout >= end.stdout && this.next.stderr >= end.stderr);
  }

  /** Whether nothing was delivered to one that began at byte zero. */
  get atStart(): boolean {
    return this.next?.stdout === 0 && this.next.stderr === 0;
  }

  exit(frame: SessionExit): void {
    const { asked, seen } = this;
    if (asked && (asked.stdout > seen.stdout || asked.stderr > seen.stderr)) return this.fail(beyondEnd());
    this.end(() => this.sink.frame(frame));
  }

  fail(error: SandboxError): void {
    if (this.state === 'ended') return;
    this.error = error;
    this.end(() => this.sink.error(error));
  }

  /** The listener leaves. */
  leave(): void {
    this.end(() => {});
  }

  taken(bytes: number): void {
    this.queuedBytes = Math.max(0, this.queuedBytes - bytes);
    if (!this.slow || this.queuedBytes > this.marks.lowBytes || this.state === 'ended') return;
    this.slow = false;
    this.owner.drained(this);
  }

  takeOff(): void {
    if (this.state === 'on') this.state = 'off';
  }

  /** A replay from `next` follows under another tag. */
  resume(tag: number): void {
    this.state = 'on';
    this.tag = tag;
    this.live.stdout = false;
    this.live.stderr = false;
  }

  private isOn(): boolean {
    return this.state === 'on';
  }

  private end(tell: () => void): void {
    if (this.state === 'ended') return;
    this.state = 'ended';
    this.call(tell);
    this.owner.ended(this);
  }

  private call(fn: () => void): void {
    try {
      fn();
    } catch (error) {
      this.owner.failed(error);
      this.error ??= detached();
      this.leave();
    }
  }
}
