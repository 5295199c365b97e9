/** How an exec is stopped that ran out of time or output, in milliseconds: between TERM and KILL, and all of it. */
export const EXEC_STOP = { graceMs: 2_000, timeoutMs: 4_500 } as const;
