import type { StreamOffsets } from '#libs/contract/core';
import type { Clock } from './clock.js';
import { malformedFrame, streamGap } from './link-errors.js';
import type { OutputStream, Subscriber } from './subscriber.js';
import type { EventBody } from './table.js';

/** Output of a session at its place; without `subscriber` it is live and for all. */
export type Deliver = (stream: OutputStream, offset: number, data: Uint8Array, subscriber?: Subscriber) => void;

/** Gives the events of a session their places. */
export interface SessionOrder {
  /** How far the live streams are known to reach. */
  readonly end: StreamOffsets;
  /** The position of a subscriber that wants only what comes; undefined while the next live frame has to tell. */
  readonly position: StreamOffsets | undefined;
  /** `subscriber`: the one whose replay the frame belongs to. */
  output(stream: OutputStream, body: EventBody<OutputStream>, subscriber?: Subscriber): void;
  /** An untagged end of the session. */
  ending(tell: () => void): void;
  /** Nothing more comes until the next attach. */
  detached(): void;
}

/** Of a daemon that says the offset of every frame. */
export class OffsetOrder implements SessionOrder {
  readonly end = { stdout: 0, stderr: 0 };
  readonly position = undefined;

  constructor(
    private readonly deliver: Deliver,
    private readonly subscribers: ReadonlySet<Subscriber>,
  ) {}

  output(stream: OutputStream, { offset, data }: EventBody<OutputStream>, subscriber?: Subscriber): void {
    if (offset === undefined) {
      for (const s of subscriber ? [subscriber] : this.subscribers) s.fail(malformedFrame('offset: missing'));
      return;
    }
    if (subscriber === undefined) this.end[stream] = Math.max(this.end[stream], offset + data.length);
    this.deliver(stream, offset, data, subscriber);
  }

  ending(tell: () => void): void {
    tell();
  }

  detached(): void {}
}

const HOLD_MS = 1_000;
const HOLD_BYTES = 1024 * 1024;

/**
 * Of a daemon whose frames say no offset. A replay begins with byte 0 and comes in one piece; the live frames behind
 * it go on from its end. A live frame may come before the replay that repeats it: where nothing else tells its place,
 * it is held until a replay shows that it is part of it, or none comes because the journal was empty.
 */
export class CountedOrder implements SessionOrder {
  private live: { stdout: number; stderr: number } | undefined;
  private readonly replayed = new WeakMap<Subscriber, { tag: number; stdout: number; stderr: number }>();
  /** Those for whom an empty journal was assumed: a replay would contradict it. */
  private readonly assumed = new WeakSet<Subscriber>();
  private held: (() => void)[] = [];
  private heldBytes = 0;
  private cancelHold: (() => void) | undefined;

  constructor(
    private readonly deliver: Deliver,
    private readonly subscribers: ReadonlySet<Subscriber>,
    private readonly clock: Clock,
    /** A session that this connection has started begins at 0. */
    fromStart: boolean,
  ) {
    if (fromStart) this.live = { stdout: 0, stderr: 0 };
  }

  get end(): StreamOffsets {
    return this.live ?? { stdout: 0, stderr: 0 };
  }

  get position(): StreamOffsets | undefined {
    return this.live;
  }

  output(stream: OutputStream, { data }: EventBody<OutputStream>, subscriber?: Subscriber): void {
    if (subscriber) this.replay(stream, data, subscriber);
    else if (this.live) this.next(stream, data);
    else this.hold(() => this.next(stream, data), data.length);
  }

  ending(tell: () => void): void {
    if (this.live) tell();
    else this.hold(tell, 0);
  }

  detached(): void {
    this.live = undefined;
    this.dropHeld();
  }

  private replay(stream: OutputStream, data: Uint8Array, subscriber: Subscriber): void {
    if (this.assumed.has(subscriber)) {
      return subscriber.fail(streamGap('a replay came after live output that it should have preceded'));
    }
    this.dropHeld();
    let replayed = this.replayed.get(subscriber);
    if (replayed?.tag !== subscriber.tag) {
      replayed = { tag: subscriber.tag, stdout: 0, stderr: 0 };
      this.replayed.set(subscriber, replayed);
    }
    const offset = replayed[stream];
    replayed[stream] += data.length;
    this.live ??= { stdout: 0, stderr: 0 };
    this.live[stream] = Math.max(this.live[stream], replayed[stream]);
    this.deliver(stream, offset, data, subscriber);
  }

  private next(stream: OutputStream, data: Uint8Array): void {
    if (!this.live) return;
    const offset = this.live[stream];
    this.live[stream] += data.length;
    this.deliver(stream, offset, data);
  }

  private hold(event: () => void, bytes: number): void {
    if (this.subscribers.size === 0) return;
    this.held.push(event);
    this.heldBytes += bytes;
    if (this.heldBytes > HOLD_BYTES) this.assumeEmptyJournal();
    else this.cancelHold ??= this.clock.after(HOLD_MS, () => this.assumeEmptyJournal());
  }

  private assumeEmptyJournal(): void {
    const { held } = this;
    this.dropHeld();
    this.live = { stdout: 0, stderr: 0 };
    for (const subscriber of this.subscribers) this.assumed.add(subscriber);
    for (const event of held) event();
  }

  private dropHeld(): void {
    this.cancelHold?.();
    this.cancelHold = undefined;
    this.held = [];
    this.heldBytes = 0;
  }
}
