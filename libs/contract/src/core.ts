// The part of the contract that needs no rxjs: what the daemon and the protocol build on.
export * from './aborted.js';
export * from './adapter-defaults.js';
export * from './byte-collector.js';
export * from './bytes.js';
export * from './capabilities.js';
export * from './checks.js';
export * from './command-channel.js';
export * from './command-stream.js';
export * from './details.js';
export * from './exec-result.js';
export * from './frames.js';
export * from './handle.js';
export * from './operation-error.js';
export * from './operations.js';
export * from './process-checks.js';
export * from './retry.js';
export * from './sandbox-error.js';
export type { BackoffOptions } from './retry-loop.js';
