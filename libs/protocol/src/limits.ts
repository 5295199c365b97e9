const KiB = 1024;
const MiB = 1024 * KiB;

/** What both ends of a connection keep to. Sizes are in bytes, times in milliseconds. */
export interface ProtocolLimits {
  /** One text frame, either direction. A peer may close on a larger one, so nobody sends it. @default 64 MiB */
  readonly maxFrameBytes: number;
  /** Raw bytes of output in one event. @default 64 KiB */
  readonly dataFrameBytes: number;
  /** Raw bytes of stdin in one request. @default 256 KiB */
  readonly stdinBytes: number;
  /** Raw bytes of a file in one `write_file`. @default 8 MiB */
  readonly writeFileBytes: number;
  /** Output of one `exec`, both streams together; what may exceed it goes over `spawn`. @default 16 MiB */
  readonly execOutputBytes: number;
  /** Output is queued only while less than this waits on the socket. @default 256 KiB */
  readonly socketQueueBytes: number;
  /** Between two pings. @default 20 s */
  readonly pingIntervalMs: number;
  /** Without one byte from the peer for this long, the transport is dropped. @default 45 s */
  readonly silenceMs: number;
  /** For the answer to a probe. @default 5 s */
  readonly probeTimeoutMs: number;
  /** For the reply to a request. @default 30 s */
  readonly requestTimeoutMs: number;
  /** For the reply to `destroy` and `suspend`, which wait for processes to end. @default 120 s */
  readonly stopTimeoutMs: number;
  /** What a call may take beyond the deadline it gave to the far end. @default 5 s */
  readonly transportGraceMs: number;
  /** How long a replay that others went past may stand still before its subscriber ends. @default 60 s */
  readonly replayIdleMs: number;
  /** Requests of one connection without a reply; one more is `unavailable` / `in_flight_limit`. @default 1 024 */
  readonly inFlight: number;
  /** Sessions of one runner; one more is `unavailable` / `session_limit`. @default 1 024 */
  readonly sessions: number;
  /** Queued for one subscriber before it is taken off its session. @default 4 MiB */
  readonly subscriberHighBytes: number;
  /** Left in the queue of a subscriber that was taken off when it is attached again. @default 1 MiB */
  readonly subscriberLowBytes: number;
  /** The longest that the socket of a daemon without offsets is paused for a slow subscriber. @default 3 s */
  readonly pauseMs: number;
  /** Frames about ids never seen, within {@link unknownIdsWindowMs}, that close a connection. @default 1 000 */
  readonly unknownIds: number;
  /** @default 10 s */
  readonly unknownIdsWindowMs: number;
  /** Ids of the past that a connection remembers, so that a late frame is not an unknown one. @default 4 096 */
  readonly staleIds: number;
  /** What pending requests get when the platform drains. @default 40 s */
  readonly drainMs: number;
}

export const PROTOCOL_LIMITS: ProtocolLimits = Object.freeze({
  maxFrameBytes: 64 * MiB,
  dataFrameBytes: 64 * KiB,
  stdinBytes: 256 * KiB,
  writeFileBytes: 8 * MiB,
  execOutputBytes: 16 * MiB,
  socketQueueBytes: 256 * KiB,
  pingIntervalMs: 20_000,
  silenceMs: 45_000,
  probeTimeoutMs: 5_000,
  requestTimeoutMs: 30_000,
  stopTimeoutMs: 120_000,
  transportGraceMs: 5_000,
  replayIdleMs: 60_000,
  inFlight: 1_024,
  sessions: 1_024,
  subscriberHighBytes: 4 * MiB,
  subscriberLowBytes: MiB,
  pauseMs: 3_000,
  unknownIds: 1_000,
  unknownIdsWindowMs: 10_000,
  staleIds: 4_096,
  drainMs: 40_000,
});
