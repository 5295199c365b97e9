import base from './jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...base,
  testMatch: ['<rootDir>/test/package/*.package-spec.ts'],
  // They wait for npm more than they compute.
  maxWorkers: 2,
  // Of an install over the network.
  testTimeout: 300_000,
};
