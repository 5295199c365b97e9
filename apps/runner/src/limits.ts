const KiB = 1024;
const MiB = 1024 * KiB;

/** What the link keeps to, beside the limits of the protocol. Sizes are in bytes, times in milliseconds. */
export interface LinkLimits {
  /** Read from a journal at once: three records of the largest size, headers included. @default 192 KiB + 48 */
  readonly readBytes: number;
  /** Sessions whose output is in memory at the same time. @default 4 */
  readonly reads: number;
  /**
   * Output behind a reader that is kept: a platform that discarded it for a slow subscriber asks for it again. Must be
   * well below the journal's cap. @default 32 MiB
   */
  readonly rereadBytes: number;
  /** Output of an exec up to which its reply is built at once; larger ones take turns. @default 64 KiB */
  readonly smallExecBytes: number;
  /** Larger replies of execs in memory at the same time. @default 2 */
  readonly execReplies: number;
  /** A session that is not detachable outlives a lost link by this. @default 60 s */
  readonly orphanMs: number;
  /** Between TERM and KILL. @default 5 s */
  readonly stopGraceMs: number;
  /** For the platform's part of a closing handshake. @default 2 s */
  readonly closeMs: number;
}

export const LINK_LIMITS: LinkLimits = Object.freeze({
  readBytes: 3 * (64 * KiB + 16),
  reads: 4,
  rereadBytes: 32 * MiB,
  smallExecBytes: 64 * KiB,
  execReplies: 2,
  orphanMs: 60_000,
  stopGraceMs: 5_000,
  closeMs: 2_000,
});
