// The part of the contract that needs no rxjs: what the daemon and the protocol build on.
export * from './capabilities.js';
export * from './details.js';
export * from './frames.js';
export * from './handle.js';
export * from './operations.js';
export * from './sandbox-error.js';
