import { randomBytes } from 'node:crypto';

/** A runner that every test app knows, and one more for tests that need a bystander. */
export const RUNNER_ID = '0c9b3a2e-4d5f-4071-8293-a4b5c6d7e8f9';
export const OTHER_RUNNER_ID = '7f3d1c5b-9a8e-4b6d-8c2f-1e0d9b8a7c6d';
export const RUNNER_TOKEN = `token-${randomBytes(16).toString('hex')}`;
export const OTHER_RUNNER_TOKEN = `token-${randomBytes(16).toString('hex')}`;
