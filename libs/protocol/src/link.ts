import type { CallOptions, ExitFrame, OutputFrame, SandboxError } from '#libs/contract/core';
import type { RequestBody, RequestOp, ResultOf } from './table.js';

/** Why a link is closed from the platform's side: close codes 4404, 4409 and 1001. */
export type CloseReason = 'runner_deleted' | 'replaced' | 'drain';

/** Of one request to a runner. */
export interface RequestOptions extends CallOptions {
  /** Milliseconds until `unavailable` / `runner_timeout`; `null` waits as long as the socket lives. @default 30 000 */
  readonly timeoutMs?: number | null;
}

/** Of a session that is started or joined. */
export interface OpenOptions extends RequestOptions {
  /**
   * Whether this is an exec in the form of a session, whose caller waits for the end as for a reply: a drain gives it
   * its time, and lets it write stdin meanwhile. Only of a spawn. @default false
   */
  readonly exec?: boolean;
}

/**
 * What carries requests to one runner, from this node or another. It lives per runner; the connection is its current
 * socket. Bodies are typed objects with `Uint8Array`; base64 exists only in the version 1 codec.
 */
export interface RunnerLink {
  readonly runnerId: string;
  /** The daemon process as it named itself when it dialled; absent on daemons of other makes. */
  readonly instance?: string;
  /** What this runner can do beyond version 1. */
  readonly capabilities: ReadonlySet<string>;

  /**
   * One request, one reply.
   *
   * @throws {SandboxError} the daemon's refusal; `provider` / `malformed_reply`; `unavailable` / `runner_disconnected`,
   *   `runner_timeout`, `draining`, `in_flight_limit`; `invalid` / `request_too_large`; `aborted`
   */
  request<Op extends RequestOp>(op: Op, body: RequestBody<Op>, options?: RequestOptions): Promise<ResultOf<Op>>;

  /**
   * Starts or joins a session. The subscription is in place before the promise resolves, so `sink` may be called
   * before that; exactly one end follows, an exit frame or an error. A rejection means that `sink` was not and will
   * not be called.
   */
  open(
    op: 'spawn' | 'attach',
    body: RequestBody<'spawn'> | RequestBody<'attach'>,
    sink: SessionSink,
    options?: OpenOptions,
  ): Promise<RunnerSession>;

  /** Whether the daemon answers within `timeoutMs`. Never rejects. */
  probe(timeoutMs: number): Promise<boolean>;

  close(reason: CloseReason): void;
}

/** One subscription to a session. */
export interface RunnerSession {
  readonly sessionId: string;
  /** `bytes` of output were consumed: the credit they held is free again. */
  taken(bytes: number): void;
  /** Resolves when the pipe took the data. Calls are executed in their order. */
  write(data: Uint8Array, options?: CallOptions): Promise<void>;
  closeStdin(options?: CallOptions): Promise<void>;
  /** Detaches this subscriber and resolves when the daemon knows, or cannot be told. Never rejects, idempotent. */
  stop(): Promise<void>;
  /** As `stop`, without waiting. */
  unsubscribe(): void;
}

/** How a session ended; the rest is told of one that the daemon stopped by the limits given at its spawn. */
export interface SessionExit extends ExitFrame {
  readonly stoppedBy?: 'timeout' | 'output_limit';
  /** Whether nothing of its process group was left. */
  readonly gone?: boolean;
}

/** Receives a session's output in order, then exactly one end: an exit frame or `error`. */
export interface SessionSink {
  frame(frame: OutputFrame | SessionExit): void;
  error(error: SandboxError): void;
}

/**
 * Where connections of runners are entered and found: one per runner id. Only compares and sets; every rule about
 * who takes over from whom is the connection's.
 */
export interface RunnerRegistry {
  register(runnerId: string, link: RunnerLink, meta: unknown): Promise<'ok' | 'already_registered'>;
  /** Acts only if that very link is the registered one. */
  unregister(runnerId: string, link: RunnerLink): Promise<boolean>;
  whereis(runnerId: string): Promise<RunnerLink | undefined>;
  online(): Promise<readonly (readonly [runnerId: string, meta: unknown])[]>;
  heartbeat(runnerId: string, link: RunnerLink): Promise<void>;
  presence(runnerId: string, state: 'online' | 'offline', meta: unknown): Promise<void>;
}
