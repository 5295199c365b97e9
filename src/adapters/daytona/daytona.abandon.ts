import { withinDeadline } from '../common/deadline.js';
import { EXEC_STOP } from '../common/exec-stop.js';
import type { InSandbox } from './daytona.context.js';
import { findPid } from './daytona.probe.js';
import { stopSession } from './daytona.stop.js';

interface Begun {
  readonly pid: string;
  readonly feed: { stop(): void };
}

/**
 * Ends a command that perhaps runs and that nobody knows of, since its start was given up or its answer was lost. Once
 * what was sent has been answered, or has had its time. Whether it succeeds, nobody can do more.
 */
export async function abandon(context: InSandbox, nonce: string, starting: Promise<Begun>): Promise<void> {
  const started = await starting.catch(() => undefined);
  started?.feed.stop();
  try {
    const pid = started?.pid ?? (await findPid(context, nonce));
    if (pid === undefined) return;
    const session = { nonce, pid, graceMs: EXEC_STOP.graceMs };
    const stopped = await withinDeadline(EXEC_STOP.timeoutMs, undefined, (left) => stopSession(context, session, left));
    if (stopped !== 'there') context.rubbish.add(context.handle, nonce);
  } catch {
    // See above.
  }
}
