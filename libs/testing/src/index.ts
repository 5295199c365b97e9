export * from './dial.js';
export * from './fake-adapter.js';
export * from './fake-daemon.js';
export * from './fake-limits.js';
export type { FakeMachineOptions } from './fake-machine.js';
export type { FakeScript } from './fake-sandbox.js';
export type { FaultOptions, FaultyOperation } from './faults.js';
export * from './loopback.js';
export * from './manual-clock.js';
