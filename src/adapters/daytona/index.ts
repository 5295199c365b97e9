export { DaytonaAdapter } from './daytona.adapter.js';
export { DaytonaOptions } from './daytona.options.js';
