/** How the daemon's process ends. */
export const EXIT = {
  /** Stopped by a signal, everything cleaned up. */
  ok: 0,
  failed: 1,
  usage: 2,
  /** The platform refused for good: a wrong token or URL, or the runner was deleted. */
  refused: 3,
  /** Another daemon holds the root. */
  rootHeld: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
