/** The bounds of a keeper. */
export interface KeeperLimits {
  /** Bytes after which a journal begins its next file. @default 16 MiB */
  readonly segmentBytes: number;
  /** Bytes of journal kept per session; one read of each stream, and what ends a session, may go beyond. @default 256 MiB */
  readonly journalBytes: number;
  /** Bytes of all journals of one sandbox together. @default 2 GiB */
  readonly sandboxJournalBytes: number;
  /** Ended sessions kept per sandbox; the oldest that nobody reads goes first. @default 100 */
  readonly finishedSessions: number;
  /** Sessions at once of which a process runs or holds a pipe, execs included: a background process counts. @default 1 024 */
  readonly liveSessions: number;
  /** Milliseconds between TERM and KILL when a limit of the session itself stops it. @default 2 000 */
  readonly limitGraceMs: number;
  /** Milliseconds between TERM and KILL on suspend and destroy. @default 5 000 */
  readonly stopGraceMs: number;
  /** Milliseconds between TERM and KILL when the keeper closes. @default 3 000 */
  readonly closeGraceMs: number;
  /** Milliseconds without output after which a leader's exit ends the output. @default 250 */
  readonly silenceMs: number;
  /** Milliseconds after a leader's exit at which the output ends in any case. @default 1 000 */
  readonly drainMs: number;
  /** Bytes of one stream after a leader's exit at which its output ends in any case. @default 1 MiB */
  readonly drainBytes: number;
}

const MIB = 1024 * 1024;

export const KEEPER_LIMITS: KeeperLimits = {
  segmentBytes: 16 * MIB,
  journalBytes: 256 * MIB,
  sandboxJournalBytes: 2048 * MIB,
  finishedSessions: 100,
  liveSessions: 1024,
  limitGraceMs: 2_000,
  stopGraceMs: 5_000,
  closeGraceMs: 3_000,
  silenceMs: 250,
  drainMs: 1_000,
  drainBytes: MIB,
};
