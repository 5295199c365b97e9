import { SandboxError } from '#libs/contract/core';
import { CLOSE } from './close-codes.js';
import { systemClock, type Clock } from './clock.js';
import { decodeRequest, encodeEvent, encodeRefusal, encodeResult, type RequestFrame } from './codec.js';
import { PROTOCOL_LIMITS, type ProtocolLimits } from './limits.js';
import { Liveness } from './liveness.js';
import { refusalOf, tooLargeToSend } from './refusal.js';
import type { Socket, SocketListener } from './socket.js';
import type { EventBody, EventName, RefusalBody, RequestOp, ResultOf } from './table.js';

/** A well-formed request; `id` 0 means that no reply is expected. */
export type DaemonRequest = Extract<RequestFrame, { kind: 'request' }>;

/** What a request came to. */
export interface Handled {
  readonly result: { [Op in RequestOp]: ResultOf<Op> }[RequestOp];
  /**
   * Called in the same turn, right after the reply was queued: what it sends follows the reply on the wire with
   * nothing between. Not called when the connection closed meanwhile.
   */
  readonly afterReply?: () => void;
}

/**
 * Called in the order of the frames, without waiting for the ones before: what must be executed in order is queued
 * by the handler. Replies go out as they complete.
 */
export type DaemonHandler = (request: DaemonRequest) => Promise<Handled>;

/** So many times what a platform may have in flight: one with as many replies waiting for it does not read. */
const UNREAD_REPLIES = 4;

export interface DaemonConnectionOptions {
  /** @default systemClock */
  readonly clock?: Clock;
  /** What is given replaces its default in {@link PROTOCOL_LIMITS}. */
  readonly limits?: Partial<ProtocolLimits>;
  /** Told of defects and ends, never of content. @default nothing is logged */
  readonly log?: (line: string) => void;
}

export interface DaemonConnectionStats {
  /** Requests without a reply. */
  readonly inFlight: number;
  /** Requests that were received, malformed ones included. */
  readonly requests: number;
  /** Frames that were no request of this version. */
  readonly malformed: number;
  /** Bytes queued on the socket. */
  readonly queuedBytes: number;
  /** Callers waiting in `whenWritable`. */
  readonly waiting: number;
}

/** The daemon's end of one socket: requests in, replies and events out. It lives as long as the socket. */
export class DaemonConnection implements SocketListener {
  /** How the socket ended. Never rejects. */
  readonly ended: Promise<{ readonly code: number; readonly reason: string }>;
  /** Aborted when the socket has closed: nobody waits for what is still being done for it. */
  readonly signal: AbortSignal;

  private readonly limits: ProtocolLimits;
  private readonly liveness: Liveness;
  private readonly abort = new AbortController();
  private readonly waiting: (() => void)[] = [];
  private settle!: (end: { code: number; reason: string }) => void;
  private state: 'open' | 'closing' | 'closed' = 'open';
  private inFlight = 0;
  private requests = 0;
  private malformed = 0;
  /** Replies that have not left this process. */
  private unread = 0;

  constructor(
    private readonly socket: Socket,
    private readonly handler: DaemonHandler,
    private readonly options: DaemonConnectionOptions = {},
  ) {
    this.limits = { ...PROTOCOL_LIMITS, ...options.limits };
    this.signal = this.abort.signal;
    this.ended = new Promise((resolve) => (this.settle = resolve));
    this.liveness = new Liveness(socket, {
      clock: options.clock ?? systemClock,
      pingIntervalMs: this.limits.pingIntervalMs,
      silenceMs: this.limits.silenceMs,
      onDead: () => this.drop(`nothing was received for ${this.limits.silenceMs} ms`),
    });
  }

  /**
   * Sends an event; the order of the calls is the order on the wire. Whoever sends output checks `writable` first,
   * and keeps to `dataFrameBytes`. After the connection closed it does nothing.
   */
  event<Name extends EventName>(name: Name, body: EventBody<Name>): void {
    this.send(encodeEvent(name, body));
  }

  /** Whether less than `socketQueueBytes` wait on the socket. */
  writable(): boolean {
    return this.state === 'open' && this.socket.bufferedAmount < this.limits.socketQueueBytes;
  }

  /**
   * Calls `fn` once, never from within this call, when the socket is writable; several callers in the order in which
   * they came, each only while it still is. For whoever has something to send; who first has to read it asks
   * `writable` again. Never called once the connection closes.
   */
  whenWritable(fn: () => void): void {
    if (this.state !== 'open') return;
    this.waiting.push(fn);
    if (this.waiting.length === 1 && this.writable()) queueMicrotask(this.wake);
  }

  /** Whether the platform answers within `timeoutMs`. Never rejects. */
  probe(timeoutMs: number = this.limits.probeTimeoutMs): Promise<boolean> {
    return this.liveness.probe(timeoutMs);
  }

  /** Starts the closing handshake, behind what is queued; what the platform still sends is dropped. Idempotent. */
  close(code: number = CLOSE.goingAway, reason = ''): void {
    if (this.state !== 'open') return;
    this.state = 'closing';
    this.waiting.length = 0;
    this.socket.close(code, reason);
  }

  stats(): DaemonConnectionStats {
    return {
      inFlight: this.inFlight,
      requests: this.requests,
      malformed: this.malformed,
      queuedBytes: this.socket.bufferedAmount,
      waiting: this.waiting.length,
    };
  }

  text(text: string): void {
    if (this.state !== 'open') return;
    if (this.unread >= UNREAD_REPLIES * this.limits.inFlight) return this.drop('the platform takes no replies');
    let frame: RequestFrame;
    try {
      frame = decodeRequest(text);
    } catch {
      return this.rejectFrame('a frame is not a JSON object');
    }
    this.requests++;
    if (frame.kind === 'bad_request') {
      this.malformed++;
      return this.refuse(frame.id, { error: frame.error, detail: frame.problem, effect: 'none' });
    }
    if (this.inFlight >= this.limits.inFlight) {
      return this.refuse(frame.id, { error: 'unavailable', detail: 'in_flight_limit', effect: 'none' });
    }
    this.inFlight++;
    void this.handle(frame, invoke(this.handler, frame));
  }

  binary(): void {
    if (this.state === 'open') this.rejectFrame('a frame is binary');
  }

  pong(): void {
    this.liveness.pong();
  }

  closed(code: number, reason: string): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.waiting.length = 0;
    this.liveness.stop();
    this.abort.abort();
    this.settle({ code, reason });
  }

  private async handle({ id, op }: DaemonRequest, handled: Promise<Handled>): Promise<void> {
    try {
      const { result, afterReply } = await handled;
      if (this.state !== 'open') return;
      const reply = encodeResult(id, op, result as never);
      if (!this.fits(reply)) return this.refuse(id, tooLargeToSend(op));
      if (id !== 0) this.reply(reply);
      if (afterReply !== undefined) this.guard(`after ${op}`, afterReply);
    } catch (error) {
      const refusal = refusalOf(error);
      if (!(error instanceof SandboxError)) this.log(`${op} failed: ${nameOf(error)}`);
      this.refuse(id, refusal);
    } finally {
      this.inFlight--;
    }
  }

  private refuse(id: number, refusal: RefusalBody): void {
    if (id !== 0) this.reply(encodeRefusal(id, refusal));
  }

  private reply(text: string): void {
    this.unread++;
    this.send(text, this.taken);
  }

  private readonly taken = (): void => {
    this.unread--;
    this.wake();
  };

  private send(text: string, flushed = this.wake): void {
    if (this.state === 'open') this.socket.send(text, flushed);
  }

  private readonly wake = (): void => {
    while (this.waiting.length > 0 && this.writable()) this.guard('a writer', this.waiting.shift() as () => void);
  };

  private drop(why: string): void {
    this.log(`${why}: dropping the connection`);
    this.state = 'closing';
    this.socket.terminate();
  }

  private rejectFrame(reason: string): void {
    this.malformed++;
    this.log(`closing with ${CLOSE.unsupportedData}: ${reason}`);
    this.close(CLOSE.unsupportedData, reason);
  }

  private fits(text: string): boolean {
    // UTF-8 takes at most three bytes for a UTF-16 unit, so most frames need no count.
    return text.length * 3 <= this.limits.maxFrameBytes || Buffer.byteLength(text) <= this.limits.maxFrameBytes;
  }

  /** A callback that throws is a defect of its own, not of the connection that calls it. */
  private guard(what: string, fn: () => void): void {
    try {
      fn();
    } catch (error) {
      this.log(`${what} failed: ${nameOf(error)}`);
    }
  }

  private log(line: string): void {
    this.options.log?.(line);
  }
}

/** Handlers may throw before they return a promise: one way to fail is enough for the caller. */
async function invoke(handler: DaemonHandler, request: DaemonRequest): Promise<Handled> {
  return handler(request);
}

/** The kind of an error, without its message: that may hold anything. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
