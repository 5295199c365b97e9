export { E2bAdapter } from './e2b.adapter.js';
export { E2bOptions } from './e2b.options.js';
