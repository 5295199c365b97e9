import type { SandboxError } from '#libs/contract/core';
import { systemClock, type Clock } from './clock.js';
import { CLOSE } from './close-codes.js';
import { decodeDaemonFrame, type DaemonFrame } from './codec.js';
import { PROTOCOL_LIMITS, type ProtocolLimits } from './limits.js';
import { disconnected, draining } from './link-errors.js';
import { Liveness } from './liveness.js';
import type {
  CloseReason,
  OpenOptions,
  RequestOptions,
  RunnerLink,
  RunnerRegistry,
  RunnerSession,
  SessionSink,
} from './link.js';
import { Offences } from './offences.js';
import { PendingRequests } from './pending-requests.js';
import { Registration } from './registration.js';
import { SendQueue } from './send-queue.js';
import { Sessions } from './sessions.js';
import { SocketPause } from './socket-pause.js';
import type { Socket, SocketListener } from './socket.js';
import type { RequestBody, RequestOp, ResultOf } from './table.js';
import { Timers, within } from './timers.js';

export interface RunnerConnectionOptions {
  readonly runnerId: string;
  /** What the runner is called in messages. */
  readonly name: string;
  /** The daemon process as it named itself when it dialled. */
  readonly instance?: string;
  /** Opaque: handed to the registry as it is. */
  readonly meta: unknown;
  readonly registry: RunnerRegistry;
  /** @default systemClock */
  readonly clock?: Clock;
  /** What is given replaces its default in {@link PROTOCOL_LIMITS}. */
  readonly limits?: Partial<ProtocolLimits>;
  /** Told of defects and ends, never of content. @default nothing is logged */
  readonly log?: (line: string) => void;
  /** Milliseconds between two heartbeats to the registry, the first after one interval. @default 20 000 */
  readonly heartbeatIntervalMs?: number;
  /** Called once, when the registry has entered the connection and it is still open. */
  readonly onRegistered?: () => void;
}

export interface RunnerConnectionStats {
  /** Requests without a reply. */
  readonly pending: number;
  /** Requests that wait for room on the socket. */
  readonly unsent: number;
  readonly sessions: number;
  readonly subscribers: number;
  /** Output that was delivered and not taken. */
  readonly queuedBytes: number;
  /** Ids of the past that are remembered. */
  readonly stale: number;
  /** Recent frames about ids that were never seen. */
  readonly unknown: number;
  readonly timers: number;
  /** Calls of the registry that failed, ever. */
  readonly registryFailures: number;
}

const HEARTBEAT_MS = 20_000;
/** For the peer's part of the closing handshake. */
const HANDSHAKE_MS = 1_000;

const CODES: Record<CloseReason, number> = {
  runner_deleted: CLOSE.deleted,
  replaced: CLOSE.duplicate,
  drain: CLOSE.goingAway,
};

/**
 * The platform's end of one daemon's socket: requests out, replies and output in. It serves from construction on, so
 * that the socket can be handed over synchronously; `start` makes it known. It lives as long as the socket.
 */
export class RunnerConnection implements RunnerLink, SocketListener {
  readonly runnerId: string;
  declare readonly instance?: string;
  readonly capabilities: ReadonlySet<string> = new Set();
  /** How the socket ended. Never rejects. */
  readonly ended: Promise<{ readonly code: number; readonly reason: string }>;
  /** Resolves after the end, when the registry was told. Never rejects. */
  readonly settled: Promise<void>;

  private readonly limits: ProtocolLimits;
  private readonly timers: Timers;
  private readonly queue: SendQueue;
  private readonly requests: PendingRequests;
  private readonly sessions: Sessions;
  private readonly offences: Offences;
  private liveness: Liveness | undefined;
  private registration: Registration | undefined;
  private settleEnded!: (end: { code: number; reason: string }) => void;
  private settle!: (done: Promise<void> | void) => void;
  private draining = false;
  private over = false;

  constructor(
    private readonly socket: Socket,
    private readonly options: RunnerConnectionOptions,
  ) {
    this.runnerId = options.runnerId;
    if (options.instance !== undefined) this.instance = options.instance;
    this.limits = { ...PROTOCOL_LIMITS, ...options.limits };
    this.timers = new Timers(options.clock ?? systemClock);
    this.queue = new SendQueue(socket, this.limits.socketQueueBytes);
    this.requests = new PendingRequests(this.queue, this.timers, this.limits);
    this.offences = new Offences(this.timers, this.limits.unknownIds, this.limits.unknownIdsWindowMs);
    this.sessions = new Sessions({
      requests: this.requests,
      clock: this.timers,
      limits: this.limits,
      native: options.instance !== undefined,
      pause: new SocketPause(socket, this.timers, this.limits.pauseMs),
      log: (line) => this.log(line),
      refusal: () => this.refusal(),
    });
    this.ended = new Promise((resolve) => (this.settleEnded = resolve));
    this.settled = new Promise((resolve) => (this.settle = resolve));
  }

  /** Begins to watch the peer and enters the connection in the registry. To be called once. */
  start(): void {
    if (this.over) return;
    const { registry, name, meta, heartbeatIntervalMs = HEARTBEAT_MS, onRegistered } = this.options;
    this.liveness = new Liveness(this.socket, {
      clock: this.timers,
      pingIntervalMs: this.limits.pingIntervalMs,
      silenceMs: this.limits.silenceMs,
      onDead: () => {
        this.log(`nothing was received for ${this.limits.silenceMs} ms: dropping the connection`);
        this.finish(false);
        this.socket.terminate();
      },
    });
    this.registration = new Registration({
      link: this,
      name,
      meta,
      registry,
      clock: this.timers,
      heartbeatIntervalMs,
      probeTimeoutMs: this.limits.probeTimeoutMs,
      onRegistered,
      refuse: (code, reason) => this.shut(code, reason),
      log: (line) => this.log(line),
    });
  }

  async request<Op extends RequestOp>(op: Op, body: RequestBody<Op>, options?: RequestOptions): Promise<ResultOf<Op>> {
    const refusal = this.refusal();
    if (refusal) throw refusal;
    const abandoned = op === 'exec' && this.instance !== undefined ? this.cancel : undefined;
    return this.requests.call(op, body, { ...options, accept: (result) => result, ...(abandoned && { abandoned }) })
      .result;
  }

  async open(
    op: 'spawn' | 'attach',
    body: RequestBody<'spawn'> | RequestBody<'attach'>,
    sink: SessionSink,
    options: OpenOptions = {},
  ): Promise<RunnerSession> {
    const refusal = this.refusal();
    if (refusal) throw refusal;
    return op === 'spawn'
      ? this.sessions.spawn(body as RequestBody<'spawn'>, sink, options)
      : this.sessions.attach(body as RequestBody<'attach'>, sink, options);
  }

  async probe(timeoutMs: number): Promise<boolean> {
    return !this.over && this.liveness !== undefined && this.liveness.probe(timeoutMs);
  }

  /** Callers and subscribers fail at once; the socket is dropped when the peer does not complete the handshake. */
  close(reason: CloseReason): void {
    this.shut(CODES[reason], reason, reason === 'replaced');
  }

  /**
   * Takes no new calls, waits for the results of those under way, at most `deadlineMs`, and closes with 1001.
   * Resolves when the socket has closed; never rejects.
   */
  async drain(deadlineMs: number): Promise<void> {
    this.draining = true;
    await within(this.idle(), deadlineMs, this.timers);
    this.close('drain');
    await this.ended;
  }

  /** An exec with stdin is a session, with requests now and then. */
  private async idle(): Promise<void> {
    do {
      await this.sessions.whenIdle();
      await this.requests.whenIdle();
    } while (this.sessions.executing);
  }

  stats(): RunnerConnectionStats {
    return {
      pending: this.requests.size,
      unsent: this.queue.size,
      sessions: this.sessions.size,
      subscribers: this.sessions.subscribers,
      queuedBytes: this.sessions.queuedBytes,
      stale: this.requests.stale + this.sessions.stale,
      unknown: this.offences.count,
      timers: this.timers.size,
      registryFailures: this.registration?.failures ?? 0,
    };
  }

  text(text: string): void {
    if (this.over) return;
    let frame: DaemonFrame;
    try {
      frame = decodeDaemonFrame(text);
    } catch {
      return this.shut(CLOSE.unsupportedData, 'a frame is not a JSON object');
    }
    if (this.dispatch(frame) || !this.offences.add()) return;
    this.shut(CLOSE.policyViolation, 'too many frames about ids that were never used here');
  }

  binary(): void {
    this.shut(CLOSE.unsupportedData, 'a frame is binary');
  }

  pong(): void {
    this.liveness?.pong();
  }

  closed(code: number, reason: string): void {
    this.finish(false);
    this.timers.clear();
    this.settleEnded({ code, reason });
  }

  /** False for a frame about something that this connection never knew. */
  private dispatch(frame: DaemonFrame): boolean {
    if (frame.kind === 'unknown') return false;
    if (frame.kind === 'reply' || frame.kind === 'bad_reply') return this.requests.reply(frame);
    return this.sessions.event(frame);
  }

  /** An exec lives as long as somebody may take its answer; other makes of daemons know no way to end it. */
  private readonly cancel = (request: number): void => {
    void this.requests.call('cancel', { request }, { accept: () => {} }).result.catch(() => {});
  };

  private refusal(): SandboxError | undefined {
    if (this.over) return disconnected('none');
    return this.draining ? draining() : undefined;
  }

  private shut(code: number, reason: string, replaced = false): void {
    if (this.over) return;
    this.log(`closing with ${code}: ${reason}`);
    this.finish(replaced);
    this.timers.after(HANDSHAKE_MS, () => this.socket.terminate());
    this.socket.close(code, reason);
  }

  /** Ends everything that hangs on the connection, whether or not the socket has closed yet. */
  private finish(replaced: boolean): void {
    if (this.over) return;
    this.over = true;
    this.liveness?.stop();
    this.requests.close(disconnected);
    this.sessions.close();
    this.offences.clear();
    this.timers.clear();
    this.registration?.end(replaced);
    this.settle(this.registration?.done);
  }

  private log(line: string): void {
    this.options.log?.(line);
  }
}
