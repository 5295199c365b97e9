import { SandboxError } from '#libs/contract';
import { withinDeadline } from '../common/deadline.js';
import { EXEC_STOP } from '../common/exec-stop.js';
import { findTag } from '../common/session-id.js';
import type { SpritesClient } from './sprites.client.js';
import { killProcess } from './sprites.kill.js';
import { liveSessions } from './sprites.sessions.js';

/**
 * Of a start that lives on without its connection and failed: what runs all the same is stopped, as far as that goes in
 * a few seconds, since nobody knows of it. Whoever asked does not wait for it.
 */
export function abandon(client: SpritesClient, name: string, nonce: string, failure: unknown): void {
  if (failure instanceof SandboxError && failure.effect === 'none') return;
  const { graceMs, timeoutMs } = EXEC_STOP;
  withinDeadline(timeoutMs, undefined, async (deadline) => {
    const sessions = await liveSessions(client, name, deadline);
    const left = sessions.find(({ command }) => findTag(command)?.nonce === nonce);
    if (left) await killProcess(client, { name, pid: left.pid, signal: 'SIGTERM', graceMs }, deadline);
  }).catch(() => {});
}
