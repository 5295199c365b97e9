import { setTimeout as delay } from 'node:timers/promises';
import { withinDeadline } from '../common/deadline.js';
import { EXEC_STOP } from '../common/exec-stop.js';
import { removePath } from './e2b.files.js';
import type { E2bMachine } from './e2b.machine.js';
import { reap, type ProcessSpec } from './e2b.start-process.js';
import { stopSession } from './e2b.stop.js';

/** When what is left is stopped again: the way that lost the start may lose the stop as well. */
const AGAIN_MS = [500, 1_500] as const;

type Named = Pick<ProcessSpec, 'kind' | 'nonce'>;

/**
 * Ends a command that perhaps runs and that nobody knows of, since its start was given up, or the answer to that or to
 * its stop was lost; or the shell that still waits for its program. Its sandbox is kept alive meanwhile, and not woken.
 * Whether it succeeds, nobody can do more.
 */
export async function abandon(machine: E2bMachine, pid: string, spec: Named): Promise<void> {
  const release = machine.hold();
  let isEnded = await end(machine, pid, spec);
  for (const waitMs of AGAIN_MS) {
    if (isEnded) break;
    await delay(waitMs, undefined, { ref: false });
    isEnded = await end(machine, pid, spec);
  }
  release();
}

/** @returns whether nothing of it is there */
async function end(machine: E2bMachine, pid: string, { kind, nonce }: Named): Promise<boolean> {
  const { graceMs } = EXEC_STOP;
  try {
    const timeoutMs = graceMs + machine.control.options.timeoutMs;
    const outcome = await withinDeadline(timeoutMs, undefined, async (deadline) => {
      await deadline.race(machine.residents.ready(machine.id), 'none');
      return stopSession(machine, { pid, nonce }, graceMs, deadline, { wake: false });
    });
    // Without a journal it is a shell that has run nothing yet, and does not any more.
    if (outcome === 'left') await reap(machine, nonce);
    else void removePath(machine, `.nestjs-sandbox/${kind === 'd' ? 'sessions' : 'runs'}/${nonce}`);
    return outcome !== 'left';
  } catch {
    return false;
  }
}
