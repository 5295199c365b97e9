import type { StreamOffsets } from '#libs/contract/core';
import type { Clock } from './clock.js';
import { IdMemory } from './id-memory.js';
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
  /** A replay for the request `tag` may follow. */
  begun(tag: number): void;
  /** A replay has ended with the end of the session. */
  replayEnded(): void;
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

  begun(): void {}

  replayEnded(): void {}

  detached(): void {}
}

const HOLD_MS = 1_000;
const HOLD_BYTES = 1024 * 1024;
/** Replays of one session that can be under way at once. */
const REPLAYS = 1_024;

/** How this connection came to a session: by its start, by a start of which it missed something, or by joining. */
export type Origin = 'started' | 'missed' | 'joined';

type Held = { readonly stream: OutputStream; readonly data: Uint8Array } | { readonly tell: () => void };

/**
 * Of a daemon whose frames say no offset. A replay begins with byte 0 and comes in one piece; the live frames behind
 * it go on from its end. A live frame may come before the replay that repeats it: where nothing else tells its place,
 * it is held until a replay has shown that it was its last part, or none comes because the journal was empty.
 */
export class CountedOrder implements SessionOrder {
  private live: { stdout: number; stderr: number } | undefined;
  /** What came of each replay, by its request: of one whose listener has left too, for the sake of `live`. */
  private readonly replayed = new IdMemory<number, { stdout: number; stderr: number }>(REPLAYS);
  /** Those for whom an empty journal was assumed: a replay would contradict it. */
  private readonly assumed = new WeakSet<Subscriber>();
  private held: Held[] = [];
  private heldBytes = { stdout: 0, stderr: 0 };
  private replayedAt = 0;
  private cancelHold: (() => void) | undefined;

  /** Events came before anybody listened: without a replay nothing is known, not even whether it has ended. */
  private missed: boolean;

  constructor(
    private readonly deliver: Deliver,
    private readonly subscribers: ReadonlySet<Subscriber>,
    private readonly clock: Clock,
    /** While the socket is not read, a replay may wait on it. */
    private readonly pause: Pick<SocketPause, 'phase'>,
    origin: Origin,
  ) {
    if (origin === 'started') this.live = { stdout: 0, stderr: 0 };
    this.missed = origin === 'missed';
  }

  get end(): StreamOffsets {
    return this.live ?? { stdout: 0, stderr: 0 };
  }

  get position(): StreamOffsets | undefined {
    return this.live;
  }

  output(stream: OutputStream, { data, replayFor }: EventBody<OutputStream>, subscriber?: Subscriber): void {
    if (replayFor !== undefined) return this.replay(stream, data, replayFor, subscriber);
    if (!this.live) return this.hold({ stream, data });
    this.placeHeld();
    this.next(stream, data);
  }

  ending(tell: () => void): void {
    if (!this.live) return this.hold({ tell });
    this.placeHeld();
    tell();
  }

  begun(tag: number): void {
    this.replayed.remember(tag, { stdout: 0, stderr: 0 });
    if (this.missed && !this.live && !this.cancelHold) this.awaitReplay();
  }

  replayEnded(): void {
    if (this.live) this.placeHeld();
  }

  detached(): void {
    this.live = undefined;
    this.missed = false;
    this.replayed.clear();
    this.dropHeld();
  }

  private replay(stream: OutputStream, data: Uint8Array, tag: number, subscriber: Subscriber | undefined): void {
    if (subscriber && this.assumed.has(subscriber)) {
      return subscriber.fail(streamGap('a replay came after live output that it should have preceded'));
    }
    const replayed = this.replayed.recall(tag);
    if (!replayed) return;
    const offset = replayed[stream];
    replayed[stream] += data.length;
    this.live ??= { stdout: 0, stderr: 0 };
    this.live[stream] = Math.max(this.live[stream], replayed[stream]);
    this.replayedAt = this.clock.now();
    if (subscriber) this.deliver(stream, offset, data, subscriber);
  }

  private next(stream: OutputStream, data: Uint8Array): void {
    if (!this.live) return;
    const offset = this.live[stream];
    this.live[stream] += data.length;
    this.deliver(stream, offset, data);
  }

  private hold(event: Held): void {
    // What is held has to reach up to the replay without a hole.
    if (this.subscribers.size === 0) return this.dropHeld();
    this.held.push(event);
    if ('stream' in event) this.heldBytes[event.stream] += event.data.length;
    if (this.heldBytes.stdout + this.heldBytes.stderr > HOLD_BYTES) this.placeHeld();
    else if (!this.cancelHold) this.awaitReplay();
  }

  private awaitReplay(): void {
    const { phase } = this.pause;
    const since = this.clock.now();
    this.cancelHold = this.clock.after(HOLD_MS, () => {
      const unread = phase % 2 === 1 || phase !== this.pause.phase;
      if (unread || this.replayedAt > since) this.awaitReplay();
      else this.placeHeld();
    });
  }

  /** All that was held came before the replay that followed, so it is the end of it; without one, the beginning. */
  private placeHeld(): void {
    if (this.missed && !this.live) {
      this.dropHeld();
      return this.failAll('what came before the reply to the spawn was not repeated');
    }
    if (this.held.length === 0) return;
    const { held, heldBytes } = this;
    this.dropHeld();
    if (this.live) {
      this.live = { stdout: this.live.stdout - heldBytes.stdout, stderr: this.live.stderr - heldBytes.stderr };
    } else {
      this.live = { stdout: 0, stderr: 0 };
      for (const subscriber of this.subscribers) this.assumed.add(subscriber);
    }
    if (this.live.stdout < 0 || this.live.stderr < 0) return this.failAll('a replay is shorter than what came before');
    for (const event of held) {
      if ('tell' in event) event.tell();
      else this.next(event.stream, event.data);
    }
  }

  private failAll(why: string): void {
    for (const subscriber of this.subscribers) subscriber.fail(streamGap(why));
  }

  private dropHeld(): void {
    this.cancelHold?.();
    this.cancelHold = undefined;
    this.held = [];
    this.heldBytes = { stdout: 0, stderr: 0 };
  }
}
