/** The limits of the protocol as the settings of `RunnerModule` make them; a `ProtocolLimits`. */
export const RUNNER_LIMITS = Symbol('nestjs-sandbox:runner:limits');

/** The gateway for those who load no WebSocket layer to look at its counts; a `RunnerStatsSource`. */
export const RUNNER_STATS = Symbol('nestjs-sandbox:runner:stats');
