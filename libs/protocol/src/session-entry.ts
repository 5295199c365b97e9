import type { SandboxError } from '#libs/contract/core';
import { onAbort } from './abort-listeners.js';
import { Attachment, type Reach } from './attachment.js';
import type { Clock } from './clock.js';
import { Lane } from './lanes.js';
import type { ProtocolLimits } from './limits.js';
import { aborted, disconnected, malformedFrame, malformedReply, refused, streamGap } from './link-errors.js';
import type { RequestOptions, SessionExit, SessionSink } from './link.js';
import type { Call, PendingRequests } from './pending-requests.js';
import { CountedOrder, OffsetOrder, type Origin, type SessionOrder } from './session-order.js';
import { SessionStdin } from './session-stdin.js';
import { ReplayWatch } from './replay-watch.js';
import type { SocketPause } from './socket-pause.js';
import { Subscriber, type OutputStream, type QueueMarks, type SubscriberOwner } from './subscriber.js';
import type { EventBody, RequestBody, ResultOf } from './table.js';

/** What the sessions of one connection share. */
export interface SessionContext {
  readonly requests: PendingRequests;
  readonly clock: Clock;
  readonly limits: ProtocolLimits;
  /** Whether the daemon says offsets, attaches from them, and holds a session that nobody reads. */
  readonly native: boolean;
  readonly pause: SocketPause;
  readonly log: (line: string) => void;
  /** Nobody needs the entry any more. */
  readonly forget: (entry: SessionEntry) => void;
  /** The daemon has attached a session for a caller that is gone. */
  readonly abandoned: (sessionId: string, name: string) => void;
}

/** A session as this connection follows it: who listens, and from where each goes on. */
export class SessionEntry implements SubscriberOwner {
  readonly subscribers = new Set<Subscriber>();
  readonly stdin: SessionStdin;
  private readonly order: SessionOrder;
  private readonly attachment: Attachment;
  private readonly attaching: Lane;
  private readonly lanes: readonly Lane[];
  private readonly replays: ReplayWatch;
  private exited = false;
  private closed = false;

  constructor(
    readonly id: string,
    name: string,
    private readonly context: SessionContext,
    private readonly origin: Origin,
  ) {
    const { native, requests, clock, pause, limits } = context;
    const deliver = this.deliver.bind(this);
    this.order = native
      ? new OffsetOrder(deliver, this.subscribers)
      : new CountedOrder(deliver, this.subscribers, clock, pause, origin);
    const onIdle = (): void => this.forgetIfIdle();
    const first = new Lane(onIdle);
    // A write may wait for the process to read: where the daemon takes both at once, attaching does not wait for it.
    this.attaching = native ? new Lane(onIdle) : first;
    this.lanes = native ? [first, this.attaching] : [first];
    this.stdin = new SessionStdin(id, first, requests);
    this.replays = new ReplayWatch(clock, limits.replayIdleMs, (subscriber) => this.misses(subscriber));
    this.attachment = new Attachment(name, {
      sessionId: id,
      lane: this.attaching,
      requests,
      native,
      wanted: () => this.wanted(),
      onDetached: () => this.order.detached(),
      onLate: (sandbox) => context.abandoned(id, sandbox),
    });
  }

  /** The daemon has started it for `sink`, by the request `tag`. */
  started({ stdin }: RequestBody<'spawn'>, sink: SessionSink, tag: number): Subscriber {
    this.attachment.told = 'attached';
    const subscriber = this.add(sink, tag, { stdout: 0, stderr: 0 });
    if (stdin === true) this.stdin.own(subscriber);
    if (this.context.native && this.origin === 'missed') this.replays.add(subscriber);
    return subscriber;
  }

  /** The daemon has attached it for a caller that is gone. */
  abandoned(): void {
    this.attachment.told = 'attached';
    void this.attachment.sync();
    this.forgetIfIdle();
  }

  /** Joins it: the subscriber is in place in the turn in which the daemon's reply arrived. */
  async attach(body: RequestBody<'attach'>, sink: SessionSink, options: RequestOptions): Promise<Subscriber> {
    const { signal, timeoutMs } = options;
    let call: Call<Subscriber> | undefined;
    let gone = false;
    const turn = this.attaching.add(() => {
      call = this.attachment.attach(body, timeoutMs, (result, tag) => {
        const subscriber = this.add(sink, tag, this.start(body.from, result));
        if (body.from === 'now' && this.context.native) subscriber.goLive();
        if (body.from !== 'now' && !this.context.native) subscriber.asked = body.from;
        if (gone) subscriber.leave();
        else if (body.stdin === true) this.stdin.own(subscriber);
        return subscriber;
      });
      return call.result;
    });
    const forgetSignal = onAbort(signal, () => {
      gone = true;
      call?.withdraw(signal);
      turn.reject(aborted(signal, 'none'));
    });
    try {
      return await turn.result;
    } finally {
      forgetSignal();
      this.forgetIfIdle();
    }
  }

  output(stream: OutputStream, body: EventBody<OutputStream>): void {
    this.order.output(stream, body, this.tagged(body.replayFor));
  }

  exit(frame: SessionExit, tag: number | undefined): void {
    if (tag === undefined) return this.order.ending(() => this.liveExit(frame));
    const subscriber = this.tagged(tag);
    if (subscriber?.state !== 'on') return;
    if (this.on().length === 1) this.attachment.told = 'detached';
    this.markExited();
    if (subscriber.caughtUp(this.order.end)) subscriber.exit(frame);
    else subscriber.fail(streamGap('a replay ended before the bytes that were seen live'));
    this.order.replayEnded();
  }

  /** Ends at once whoever it is for: an error says nothing about how much there was. */
  error(body: EventBody<'error'>): void {
    const error = refused('session', body);
    const subscriber = this.tagged(body.replayFor);
    if (body.replayFor === undefined) this.attachment.told = 'detached';
    else if (subscriber?.state !== 'on') return;
    for (const s of subscriber ? [subscriber] : this.on()) s.fail(error);
  }

  malformed(problem: Error, tag: number | undefined): void {
    const subscriber = this.tagged(tag);
    if (tag !== undefined && !subscriber) return;
    for (const s of subscriber ? [subscriber] : this.on()) s.fail(malformedFrame(problem.message));
  }

  /** Whether `tag` is the request of one of the subscribers. */
  hasTag(tag: number): boolean {
    return this.tagged(tag) !== undefined;
  }

  /** A listener leaves; resolves when the daemon knows or cannot be told. */
  async leave(subscriber: Subscriber): Promise<void> {
    this.stdin.leave(subscriber);
    subscriber.leave();
    await this.attachment.sync();
  }

  /** The connection has ended. */
  close(): void {
    this.closed = true;
    this.order.detached();
    for (const subscriber of this.subscribers) subscriber.fail(disconnected('unknown'));
  }

  slow(subscriber: Subscriber): void {
    if (!this.context.native) return this.context.pause.add(subscriber);
    subscriber.takeOff();
    void this.attachment.sync();
  }

  drained(subscriber: Subscriber): void {
    if (!this.context.native) return this.context.pause.delete(subscriber);
    void this.attaching.add(() => this.reattach(subscriber)).result;
  }

  ended(subscriber: Subscriber): void {
    this.subscribers.delete(subscriber);
    this.context.pause.delete(subscriber);
    this.replays.delete(subscriber);
    void this.attachment.sync();
    this.forgetIfIdle();
  }

  behind(subscriber: Subscriber): void {
    this.replays.add(subscriber);
  }

  failed(error: unknown): void {
    this.context.log(`a listener of a session failed: ${error instanceof Error ? error.name : typeof error}`);
  }

  private add(sink: SessionSink, tag: number, next: Subscriber['next']): Subscriber {
    const { subscriberHighBytes: highBytes, subscriberLowBytes: lowBytes } = this.context.limits;
    const marks: QueueMarks = { highBytes, lowBytes };
    const subscriber = new Subscriber(sink, marks, this, tag, next && { ...next });
    this.subscribers.add(subscriber);
    this.order.begun(tag);
    return subscriber;
  }

  /** Where a subscriber begins that asked for `from`. */
  private start(from: RequestBody<'attach'>['from'], { from: begun }: ResultOf<'attach'>): Subscriber['next'] {
    if (!this.context.native) return from === 'now' ? this.order.position : (from ?? { stdout: 0, stderr: 0 });
    if (from === 'now') {
      if (!begun) throw malformedReply('attach', 'result.from: missing');
      return begun;
    }
    const asked = from ?? { stdout: 0, stderr: 0 };
    this.checkBegin(asked, begun);
    return asked;
  }

  private checkBegin(asked: { stdout: number; stderr: number }, begun: ResultOf<'attach'>['from']): void {
    if (begun && (begun.stdout > asked.stdout || begun.stderr > asked.stderr))
      throw streamGap('the replay begins beyond the byte that was asked for');
  }

  private async reattach(subscriber: Subscriber): Promise<void> {
    if (subscriber.state !== 'off' || this.closed) return;
    const from = subscriber.next as { stdout: number; stderr: number };
    const call = this.attachment.resume({ ...from }, (result, tag) => {
      if (subscriber.state !== 'off') return;
      this.checkBegin(from, result.from);
      subscriber.resume(tag);
    });
    await call.result.catch((error: SandboxError) => subscriber.fail(error));
  }

  private deliver(stream: OutputStream, offset: number, data: Uint8Array, subscriber?: Subscriber): void {
    if (subscriber) return subscriber.output(stream, offset, data, true);
    for (const s of this.subscribers) {
      if (s.next === undefined) s.startAt({ ...this.order.end, [stream]: offset });
      s.output(stream, offset, data, false);
    }
  }

  private liveExit(frame: SessionExit): void {
    const on = this.on();
    // Whoever has not caught up gets it again behind its replay.
    const reached = on.filter((subscriber) => subscriber.caughtUp(this.order.end));
    if (reached.length === on.length) this.attachment.told = 'detached';
    this.markExited();
    for (const subscriber of on) {
      if (reached.includes(subscriber)) subscriber.exit(frame);
      else this.replays.add(subscriber);
    }
  }

  /** Whether something went past it, so that only a replay can bring it on. */
  private misses(subscriber: Subscriber): boolean {
    if (subscriber.state !== 'on') return false;
    return this.exited || !subscriber.caughtUp(this.order.end) || (this.origin === 'missed' && subscriber.atStart);
  }

  private on(): Subscriber[] {
    return [...this.subscribers].filter(({ state }) => state === 'on');
  }

  private markExited(): void {
    this.exited = true;
    this.stdin.exited();
  }

  private tagged(tag: number | undefined): Subscriber | undefined {
    if (tag === undefined) return undefined;
    for (const subscriber of this.subscribers) if (subscriber.tag === tag) return subscriber;
    return undefined;
  }

  private wanted(): Reach {
    if (this.closed) return this.attachment.told;
    if (this.on().length > 0) return 'attached';
    return this.subscribers.size > 0 && !this.exited ? 'held' : 'detached';
  }

  private forgetIfIdle(): void {
    if (this.subscribers.size === 0 && this.lanes.every((lane) => lane.idle)) this.context.forget(this);
  }
}
