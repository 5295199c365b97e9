import type { StreamOffsets } from '#libs/contract/core';
import type { Clock } from './clock.js';
import { malformedFrame, streamGap } from './link-errors.js';
import type { SocketPause } from './socket-pause.js';
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
  /** `subscriber`: the one whose replay the frame belongs to, if it is still here. */
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

  output(stream: OutputStream, body: EventBody<OutputStream>, subscriber?: Subscriber): void {
    const { offset, data, replayFor } = body;
    if (replayFor !== undefined && !subscriber) return;
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
  /** What came of each replay, by its request: of one whose listener has left too, for the sake of `live`. */
  private readonly replayed = new Map<number, { stdout: number; stderr: number }>();
  /** Those for whom an empty journal was assumed: a replay would contradict it. */
  private readonly assumed = new WeakSet<Subscriber>();
  private held: (() => void)[] = [];
  private heldBytes = 0;
  private cancelHold: (() => void) | undefined;

  constructor(
    private readonly deliver: Deliver,
    private readonly subscribers: ReadonlySet<Subscriber>,
    private readonly clock: Clock,
    /** While the socket is not read, a replay may wait on it. */
    private readonly pause: Pick<SocketPause, 'phase'>,
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

  output(stream: OutputStream, { data, replayFor }: EventBody<OutputStream>, subscriber?: Subscriber): void {
    if (replayFor !== undefined) this.replay(stream, data, replayFor, subscriber);
    else if (this.live) this.next(stream, data);
    else this.hold(() => this.next(stream, data), data.length);
  }

  ending(tell: () => void): void {
    if (this.live) tell();
    else this.hold(tell, 0);
  }

  detached(): void {
    this.live = undefined;
    this.replayed.clear();
    this.dropHeld();
  }

  private replay(stream: OutputStream, data: Uint8Array, tag: number, subscriber: Subscriber | undefined): void {
    if (subscriber && this.assumed.has(subscriber)) {
      return subscriber.fail(streamGap('a replay came after live output that it should have preceded'));
    }
    const replayed = this.replayed.get(tag) ?? { stdout: 0, stderr: 0 };
    if (subscriber) this.replayed.set(tag, replayed);
    else if (!this.replayed.has(tag)) return;
    this.dropHeld();
    const offset = replayed[stream];
    replayed[stream] += data.length;
    this.live ??= { stdout: 0, stderr: 0 };
    this.live[stream] = Math.max(this.live[stream], replayed[stream]);
    if (subscriber) this.deliver(stream, offset, data, subscriber);
  }

  private next(stream: OutputStream, data: Uint8Array): void {
    if (!this.live) return;
    if (this.replayed.size > this.subscribers.size) this.forgetReplays();
    const offset = this.live[stream];
    this.live[stream] += data.length;
    this.deliver(stream, offset, data);
  }

  /** A live frame is behind all replays: nothing more comes of those whose listeners have left. */
  private forgetReplays(): void {
    const tags = new Set([...this.subscribers].map(({ tag }) => tag));
    for (const tag of this.replayed.keys()) if (!tags.has(tag)) this.replayed.delete(tag);
  }

  private hold(event: () => void, bytes: number): void {
    if (this.subscribers.size === 0) return;
    this.held.push(event);
    this.heldBytes += bytes;
    if (this.heldBytes > HOLD_BYTES) this.assumeEmptyJournal();
    else if (!this.cancelHold) this.awaitReplay();
  }

  private awaitReplay(): void {
    const { phase } = this.pause;
    this.cancelHold = this.clock.after(HOLD_MS, () => {
      if (phase % 2 === 0 && phase === this.pause.phase) this.assumeEmptyJournal();
      else this.awaitReplay();
    });
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
