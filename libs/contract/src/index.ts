export * from './core.js';
export * from './command.js';
