const KiB = 1024;
const MiB = 1024 * KiB;

/** What a fake machine keeps to, in bytes. */
export interface FakeLimits {
  /** Output that was delivered to one reader and not taken; the command waits with more. @default 64 KiB */
  readonly windowBytes: number;
  /** Output in one frame. @default 64 KiB */
  readonly frameBytes: number;
  /** Written to stdin and not read by the command; a write that goes beyond waits. @default 64 KiB */
  readonly pipeBytes: number;
  /** Output kept of one session for replay; the oldest goes first. @default 16 MiB */
  readonly journalBytes: number;
  /** Content of one file. @default 64 MiB */
  readonly fileBytes: number;
  /** Finished sessions that are kept of one sandbox. @default 100 */
  readonly finishedSessions: number;
}

/** What a fake keeps to unless told otherwise. */
export const FAKE_LIMITS: FakeLimits = Object.freeze({
  windowBytes: 64 * KiB,
  frameBytes: 64 * KiB,
  pipeBytes: 64 * KiB,
  journalBytes: 16 * MiB,
  fileBytes: 64 * MiB,
  finishedSessions: 100,
});
