import { SandboxError, type SandboxHandle, type TerminateRequest } from '#libs/contract';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { unconfirmed } from '../common/failed-answer.js';
import { foreignSession, noSession } from '../common/journal-errors.js';
import { parseSessionId, type SessionId } from '../common/session-id.js';
import { TRANSPORT_MS } from '../common/termination.js';
import type { E2bMachine } from './e2b.machine.js';
import type { E2bMachines } from './e2b.machines.js';
import { liveProcesses } from './e2b.sessions.js';
import { stopSession, type StopOutcome } from './e2b.stop.js';

/**
 * Stops a session of ours. Resolves once the sandbox has seen it gone, or that it is not there: a frozen one is not gone,
 * so a sandbox that is paused is woken first.
 */
export async function terminateInSandbox(
  machines: E2bMachines,
  handle: SandboxHandle,
  { sessionId, timeoutMs, mode, signal }: TerminateRequest,
): Promise<void> {
  const id = parseSessionId(sessionId);
  await withinDeadline(timeoutMs + TRANSPORT_MS, signal, async (deadline) => {
    const graceMs = mode === 'force' ? 0 : timeoutMs;
    const outcome = await machines.within(handle, deadline, async (machine) =>
      id === undefined ? checkForeign(machine, sessionId, deadline) : stop(machine, id, graceMs, deadline),
    );
    if (outcome === 'another') throw noSession();
    if (outcome === 'left') throw unconfirmed('the end of the session');
  });
}

/** Of an id that is none of ours: that no live process has it. @throws {SandboxError} `not_supported` */
export async function checkForeign(machine: E2bMachine, sessionId: string, deadline: Deadline): Promise<StopOutcome> {
  const processes = await liveProcesses(machine, deadline).catch((error: unknown) => {
    throw error instanceof SandboxError ? error.with({ effect: 'none' }) : error;
  });
  if (processes.some(({ pid }) => pid === sessionId)) throw foreignSession();
  return 'absent';
}

/** What was refused did nothing; of everything else that is no confirmation it is unknown. */
async function stop(machine: E2bMachine, id: SessionId, graceMs: number, deadline: Deadline): Promise<StopOutcome> {
  try {
    return await stopSession(machine, id, graceMs, deadline);
  } catch (error) {
    const isTold = error instanceof SandboxError && (error.effect === 'none' || error.code === 'aborted');
    throw isTold ? error : unconfirmed('the end of the session', error);
  }
}
