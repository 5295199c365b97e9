export * from './clock.js';
export * from './codec.js';
export * from './close-codes.js';
export * from './limits.js';
export * from './liveness.js';
export * from './link.js';
export * from './socket.js';
export * from './table.js';
