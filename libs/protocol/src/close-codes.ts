/** WebSocket close codes with a meaning of their own between platform and daemon. */
export const CLOSE = {
  /** The platform drains or shuts down. */
  goingAway: 1001,
  /** A frame that is not JSON text. */
  unsupportedData: 1003,
  /** Too many frames about things this connection never knew. */
  policyViolation: 1008,
  /** The platform could not register the connection; come back later. */
  tryAgainLater: 1013,
  /** The runner was deleted. */
  deleted: 4404,
  /** A second connection under the same id. */
  duplicate: 4409,
} as const;
