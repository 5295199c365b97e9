// How long things may take, in milliseconds.

/** A call without its outcome for so long counts as hung, and so does a reader that gets neither bytes nor an end. */
export const HUNG_MS = 30_000;
/** A runner that cannot be reached for so long after the last fault never comes back. */
export const BACK_MS = 30_000;
/** What counts as left behind has so long to go away. */
export const SETTLE_MS = 15_000;
/** The same of an application that was closed: less than its timers run. */
export const CLOSE_SETTLE_MS = 3_000;
/** For a process to end after it was asked to. */
export const END_MS = 20_000;

/** Of the platform: short, so that silence and probes happen within a run; for a reply longer than {@link SETTLE_MS}. */
export const PLATFORM_TIMES = {
  pingIntervalMs: 1_000,
  silenceMs: 4_000,
  probeTimeoutMs: 1_000,
  requestTimeoutMs: 20_000,
  heartbeatIntervalMs: 1_000,
  drainMs: 1_500,
};
/** For `destroy` and `suspend`. */
export const STOP_TIMEOUT_MS = 20_000;

/** Daemons dial again so many times sooner than they would, so that a run has many links. */
export const REDIAL_FACTOR = 60;
