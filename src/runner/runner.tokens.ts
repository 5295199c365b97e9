/** The limits of the protocol as the settings of `RunnerModule` make them; a `ProtocolLimits`. */
export const RUNNER_LIMITS = Symbol('nestjs-sandbox:runner:limits');
