/** How `withBackoff` tries again. */
export interface BackoffOptions {
  /** Calls in all, the first included. @default 3 */
  readonly attempts?: number;
  /** The first step in milliseconds; each further one is twice as long. @default 250 */
  readonly baseMs?: number;
  /** The longest step in milliseconds; a provider's `retryAfterMs` may exceed it. @default 2000 */
  readonly maxMs?: number;
  /** Milliseconds from the start in which another attempt may begin. @default none */
  readonly deadlineMs?: number;
  /** Names the work in the error of an abort. @default 'the work' */
  readonly label?: string;
  /**
   * Decides in place of the built-in rule whether an error is worth another attempt. Needed for a second attempt at
   * something that may have happened already.
   */
  readonly retriable?: (error: unknown) => boolean;
  /** Ends the waiting, and keeps further attempts from beginning; the work itself has to look for it on its own. */
  readonly signal?: AbortSignal;
}
