import { SandboxError } from '#libs/contract';

/** Of a session that is terminated, beyond its grace: for the requests. */
export const TRANSPORT_MS = 5_000;

/** Nothing was signalled yet; whoever aborts a stop is promised nothing all the same. */
export function onlyAsked(error: unknown): never {
  throw error instanceof SandboxError && error.code !== 'aborted' ? error.with({ effect: 'none' }) : error;
}
