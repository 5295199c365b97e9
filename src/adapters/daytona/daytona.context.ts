import type { SandboxHandle } from '#libs/contract';
import type { DaytonaClient } from './daytona.client.js';
import type { Rubbish } from './daytona.rubbish.js';
import type { Toolboxes } from './daytona.toolboxes.js';

/** What the operations on processes need. */
export interface DaytonaContext {
  readonly client: DaytonaClient;
  readonly toolboxes: Toolboxes;
  readonly rubbish: Rubbish;
}

/** In one sandbox. */
export interface InSandbox extends DaytonaContext {
  readonly handle: SandboxHandle;
}

/** For one operation, which may have to start a sandbox first. */
export const USE_TIMEOUT_MS = 120_000;
/** For one operation that waits for the life of a sandbox to change. */
export const LIFECYCLE_TIMEOUT_MS = 180_000;
/** For waking one that may be in cold storage. */
export const RESUME_TIMEOUT_MS = 600_000;
/** For one operation that reads of the control plane only. */
export const READ_TIMEOUT_MS = 30_000;
/** For the answer to a start when whoever asked for it has given up: longer than the service lets it take. */
export const LATE_MS = 15_000;
