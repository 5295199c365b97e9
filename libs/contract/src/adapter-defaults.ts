/** The defaults of the operations, in one place. */
export const DEFAULTS = {
  maxOutputBytes: 16 * 1024 * 1024,
  terminateGraceMs: 10_000,
  terminal: { cols: 80, rows: 24 },
} as const;
