export * from './core.js';
export * from './adapter-methods.js';
export * from './adapter-operations.js';
export type * from './adapter-requests.js';
export type * from './call-observer.js';
export * from './command.js';
export * from './exec-over-spawn.js';
export * from './sandbox-adapter.js';
export * from './streaming-command.js';
