import { SandboxError } from '#libs/contract/core';
import type { DaemonFrame } from './codec.js';
import { IdMemory } from './id-memory.js';
import { aborted, malformedReply } from './link-errors.js';
import type { OpenOptions, RequestOptions, RunnerSession, SessionExit, SessionSink } from './link.js';
import { SessionEntry, type SessionContext } from './session-entry.js';
import type { Origin } from './session-order.js';
import { Subscription } from './subscription.js';
import type { Subscriber } from './subscriber.js';
import type { EventBody, RequestBody } from './table.js';

type SessionFrame = Extract<DaemonFrame, { kind: 'event' | 'bad_event' }>;

export interface SessionsOptions extends Omit<SessionContext, 'forget' | 'abandoned'> {
  /** Why nothing can be written, while the connection drains. */
  readonly refusal: () => SandboxError | undefined;
}

const MAX_ID_LENGTH = 256;

/** The sessions that one connection follows, by their ids. */
export class Sessions {
  private readonly entries = new Map<string, SessionEntry>();
  private readonly past: IdMemory<string>;
  /** Sessions that spoke before this connection knew them. */
  private readonly early: IdMemory<string>;
  private readonly context: SessionContext;
  /** Execs in the form of a session: their callers wait for the end, as for a reply. */
  private readonly execs = new Set<SessionEntry>();
  private opening = 0;
  private readonly idle: (() => void)[] = [];

  constructor(private readonly options: SessionsOptions) {
    this.past = new IdMemory(options.limits.staleIds);
    this.early = new IdMemory(options.limits.staleIds);
    this.context = {
      ...options,
      forget: (entry) => this.forget(entry),
      abandoned: (sessionId, name) => this.abandoned(sessionId, name),
    };
  }

  get size(): number {
    return this.entries.size;
  }

  get subscribers(): number {
    let sum = 0;
    for (const entry of this.entries.values()) sum += entry.subscribers.size;
    return sum;
  }

  get queuedBytes(): number {
    let sum = 0;
    for (const entry of this.entries.values()) for (const { queuedBytes } of entry.subscribers) sum += queuedBytes;
    return sum;
  }

  get stale(): number {
    return this.past.size + this.early.size;
  }

  async spawn(body: RequestBody<'spawn'>, sink: SessionSink, options: OpenOptions): Promise<RunnerSession> {
    const { exec: isExec = false } = options;
    const join = async () => {
      const call = this.options.requests.call('spawn', body, {
        ...options,
        accept: ({ sessionId }, tag) => {
          if (this.entries.has(sessionId)) throw malformedReply('spawn', 'result.session_id: is of another session');
          const entry = this.enter(sessionId, body.name, this.early.has(sessionId) ? 'missed' : 'started');
          if (isExec) this.execs.add(entry);
          return { entry, subscriber: entry.started(body, sink, tag) };
        },
        late: ({ sessionId }) => this.abandoned(sessionId, body.name),
      });
      return call.result;
    };
    return this.open(body.name, options, join);
  }

  async attach(body: RequestBody<'attach'>, sink: SessionSink, options: RequestOptions): Promise<RunnerSession> {
    return this.open(body.name, options, async () => {
      const entry = this.entries.get(body.sessionId) ?? this.enter(body.sessionId, body.name, 'joined');
      return { entry, subscriber: await entry.attach(body, sink, options) };
    });
  }

  /** Takes an event to its session; false for one that this connection cannot know of. */
  event(frame: SessionFrame): boolean {
    const bad = frame.kind === 'bad_event';
    const { sessionId, replayFor } = bad ? frame : frame.body;
    const entry = this.entries.get(sessionId);
    if (!entry) {
      if (this.past.has(sessionId)) return true;
      if (!bad && replayFor === undefined && sessionId.length <= MAX_ID_LENGTH) this.early.remember(sessionId, true);
      return false;
    }
    if (replayFor !== undefined && !entry.hasTag(replayFor) && !this.options.requests.knows(replayFor)) return false;
    if (bad) entry.malformed(frame.problem, replayFor);
    else if (frame.event === 'exit') entry.exit(exitOf(frame.body), replayFor);
    else if (frame.event === 'error') entry.error(frame.body);
    else entry.output(frame.event, frame.body);
    return true;
  }

  /** Whether an exec runs as a session. */
  get executing(): boolean {
    return this.execs.size > 0;
  }

  /** Resolves when none does. */
  whenIdle(): Promise<void> {
    if (this.execs.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.idle.push(resolve));
  }

  /** The connection has ended: so has every subscription. */
  close(): void {
    for (const entry of this.entries.values()) entry.close();
    this.entries.clear();
    this.execs.clear();
    this.settleIdle();
    this.past.clear();
    this.early.clear();
  }

  private async open(
    name: string,
    { signal, exec = false }: OpenOptions,
    join: () => Promise<{ entry: SessionEntry; subscriber: Subscriber }>,
  ): Promise<RunnerSession> {
    if (signal?.aborted) throw aborted(signal, 'none');
    if (this.subscribers + this.opening >= this.options.limits.sessions)
      throw sessionLimit(this.options.limits.sessions);
    this.opening++;
    try {
      const { entry, subscriber } = await join();
      // What an exec still writes belongs to a call under way.
      const options = exec ? { ...this.options, refusal: () => undefined } : this.options;
      return new Subscription(entry, subscriber, name, options);
    } finally {
      this.opening--;
    }
  }

  private enter(sessionId: string, name: string, origin: Origin): SessionEntry {
    const entry = new SessionEntry(sessionId, name, this.context, origin);
    this.entries.set(sessionId, entry);
    this.past.forget(sessionId);
    this.early.forget(sessionId);
    return entry;
  }

  private abandoned(sessionId: string, name: string): void {
    (this.entries.get(sessionId) ?? this.enter(sessionId, name, 'joined')).abandoned();
  }

  private forget(entry: SessionEntry): void {
    if (this.entries.get(entry.id) !== entry) return;
    this.entries.delete(entry.id);
    this.past.remember(entry.id, true);
    if (this.execs.delete(entry) && this.execs.size === 0) this.settleIdle();
  }

  private settleIdle(): void {
    for (const resolve of this.idle.splice(0)) resolve();
  }
}

const SIGNAL = /^SIG[A-Z0-9]{1,12}$/;

function exitOf({ code, signal, startError, stoppedBy, gone }: EventBody<'exit'>): SessionExit {
  return {
    type: 'exit',
    exitCode: code,
    ...(signal !== undefined && SIGNAL.test(signal) && { signal: signal as NodeJS.Signals }),
    ...(startError !== undefined && { startError }),
    ...(stoppedBy !== undefined && { stoppedBy }),
    ...(gone !== undefined && { gone }),
  };
}

function sessionLimit(sessions: number): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'session_limit',
    effect: 'none',
    message: `${sessions} sessions of this runner are being followed`,
  });
}
