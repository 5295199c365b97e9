import { SandboxError } from '#libs/contract/core';
import { onAbort } from './abort-listeners.js';
import type { Clock } from './clock.js';
import { decodeResult, encodeRequest, type DaemonFrame } from './codec.js';
import { deferred } from './deferred.js';
import { ShapeError } from './field.js';
import { IdMemory } from './id-memory.js';
import type { ProtocolLimits } from './limits.js';
import {
  aborted,
  badBody,
  effectOnceSent,
  malformedReply,
  refused,
  requestTooLarge,
  runnerTimeout,
} from './link-errors.js';
import type { RequestOptions } from './link.js';
import type { SendQueue } from './send-queue.js';
import type { RequestBody, RequestOp, ResultOf } from './table.js';

export interface CallOptions<Op extends RequestOp, T> extends RequestOptions {
  /**
   * Makes what the caller gets out of the result, in the turn in which the reply arrived: what it installs is in
   * place before the next frame. What it throws rejects the call.
   */
  readonly accept: (result: ResultOf<Op>, id: number) => T;
  /** Called with an ok reply that came after the caller was told of a timeout or an abort. */
  readonly late?: (result: ResultOf<Op>) => void;
  /** Called when a request that was sent is given up, by its timeout or an abort. */
  readonly abandoned?: (id: number) => void;
}

/** One request on its way. */
export interface Call<T> {
  readonly result: Promise<T>;
  /** Whether it has its outcome, though `result` may tell of it only after this turn. */
  readonly settled: boolean;
  /** Takes back a request that was not sent yet: it then rejects `aborted`. Whether it could. */
  withdraw(signal?: AbortSignal): boolean;
}

type Reply = Extract<DaemonFrame, { kind: 'reply' | 'bad_reply' }>;

interface Pending {
  readonly op: RequestOp;
  reply(reply: Reply): void;
  /** Ends it without a reply; the error depends on whether it was sent. */
  fail(error: SandboxError): void;
  readonly effect: 'none' | 'unknown';
}

/** What is left of a request whose caller has gone. */
type Leftover = ((reply: Reply) => void) | undefined;

/** The requests of one connection: ids, deadlines and the way back from a reply to its caller. */
export class PendingRequests {
  private readonly pending = new Map<number, Pending>();
  private readonly past: IdMemory<number, Leftover>;
  private closedWith: ((effect: 'none' | 'unknown') => SandboxError) | undefined;
  private lastId = 0;
  private idle: (() => void)[] = [];

  constructor(
    private readonly queue: SendQueue,
    private readonly clock: Clock,
    private readonly limits: ProtocolLimits,
  ) {
    this.past = new IdMemory(limits.staleIds);
  }

  get size(): number {
    return this.pending.size;
  }

  /** How many ids of the past are remembered. */
  get stale(): number {
    return this.past.size;
  }

  call<Op extends RequestOp, T>(op: Op, body: RequestBody<Op>, options: CallOptions<Op, T>): Call<T> {
    const refusal = this.refusal(options.signal);
    if (refusal) return { result: Promise.reject(refusal), settled: true, withdraw: () => false };
    const id = ++this.lastId;
    const { promise, resolve, reject } = deferred<T>();
    const { signal } = options;

    const settle = (outcome: () => void, leftover?: Leftover): void => {
      if (!this.pending.delete(id)) return;
      this.queue.remove(frame);
      cancelTimer?.();
      forgetSignal();
      this.past.remember(id, leftover);
      outcome();
      if (this.pending.size === 0) this.settleIdle();
    };
    const fail = (error: SandboxError, leftover?: Leftover): void => settle(() => reject(error), leftover);
    const late = (reply: Reply): void => {
      if (options.late === undefined || reply.kind !== 'reply' || !reply.ok) return;
      try {
        options.late(decodeResult(op, reply.result));
      } catch {
        // Nobody waits for it: what it should have been is nobody's question.
      }
    };
    const giveUp = (error: SandboxError): void => {
      fail(error, late);
      if (sent) options.abandoned?.(id);
    };
    let sent = false;
    const effect = (): 'none' | 'unknown' => (sent && effectOnceSent(op) === 'unknown' ? 'unknown' : 'none');
    const withdraw = (by?: AbortSignal): boolean => {
      if (sent || !this.pending.has(id)) return false;
      fail(aborted(by, 'none'));
      return true;
    };
    const frame = {
      encode: (): string | undefined => {
        const text = this.encode(id, op, body);
        if (typeof text === 'string') {
          sent = true;
          return text;
        }
        fail(text);
        return undefined;
      },
    };
    const timeoutMs = options.timeoutMs === undefined ? this.defaultTimeoutMs(op) : options.timeoutMs;
    const cancelTimer =
      timeoutMs === null
        ? undefined
        : this.clock.after(timeoutMs, () => giveUp(runnerTimeout(op, timeoutMs, effect())));
    const forgetSignal = onAbort(signal, () => giveUp(aborted(signal, effect())));
    this.pending.set(id, {
      op,
      get effect() {
        return effect();
      },
      fail,
      reply: (reply) =>
        settle(() => {
          try {
            resolve(options.accept(this.read(op, reply), id));
          } catch (error) {
            reject(error instanceof SandboxError ? error : malformedReply(op, problemOf(error)));
          }
        }),
    });
    this.queue.add(frame);
    const { pending } = this;
    return {
      result: promise,
      get settled() {
        return !pending.has(id);
      },
      withdraw,
    };
  }

  /** Takes a reply to wherever it belongs; false for an id that was never used here, or too long ago. */
  reply(reply: Reply): boolean {
    const pending = this.pending.get(reply.id);
    if (pending) {
      pending.reply(reply);
      return true;
    }
    if (!this.past.has(reply.id)) return reply.id === 0;
    const leftover = this.past.recall(reply.id);
    this.past.remember(reply.id, undefined);
    leftover?.(reply);
    return true;
  }

  /** Whether `id` is of a request of this connection, pending or remembered. */
  knows(id: number): boolean {
    return this.pending.has(id) || this.past.has(id);
  }

  /** Resolves when nothing is pending. */
  whenIdle(): Promise<void> {
    if (this.pending.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.idle.push(resolve));
  }

  /** Fails everything, and whatever comes later. */
  close(error: (effect: 'none' | 'unknown') => SandboxError): void {
    this.closedWith = error;
    for (const pending of this.pending.values()) pending.fail(error(pending.effect));
    this.past.clear();
    this.queue.clear();
  }

  private refusal(signal: AbortSignal | undefined): SandboxError | undefined {
    if (signal?.aborted) return aborted(signal, 'none');
    if (this.closedWith) return this.closedWith('none');
    if (this.pending.size < this.limits.inFlight) return undefined;
    return new SandboxError('unavailable', {
      detail: 'in_flight_limit',
      effect: 'none',
      message: `${this.limits.inFlight} requests to this runner wait for an answer`,
    });
  }

  private defaultTimeoutMs(op: RequestOp): number | null {
    if (op === 'stdin') return null;
    return op === 'destroy' || op === 'suspend' ? this.limits.stopTimeoutMs : this.limits.requestTimeoutMs;
  }

  private encode<Op extends RequestOp>(id: number, op: Op, body: RequestBody<Op>): string | SandboxError {
    const { maxFrameBytes } = this.limits;
    try {
      const text = encodeRequest(id, op, body);
      const fits = text.length * 3 <= maxFrameBytes || Buffer.byteLength(text) <= maxFrameBytes;
      return fits ? text : requestTooLarge(op, maxFrameBytes);
    } catch (error) {
      // A RangeError: longer than a string can be.
      return error instanceof RangeError ? requestTooLarge(op, maxFrameBytes) : badBody(op);
    }
  }

  private read<Op extends RequestOp>(op: Op, reply: Reply): ResultOf<Op> {
    if (reply.kind === 'bad_reply') throw reply.problem;
    if (!reply.ok) throw refused(op, reply.refusal);
    return decodeResult(op, reply.result);
  }

  private settleIdle(): void {
    const waiting = this.idle;
    this.idle = [];
    for (const resolve of waiting) resolve();
  }
}

/** Names the member, never its content. */
function problemOf(error: unknown): string {
  return error instanceof ShapeError ? error.message : 'not what was asked for';
}
