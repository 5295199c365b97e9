import { SandboxError } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { unconfirmed } from '../common/failed-answer.js';
import { sandboxPath } from './e2b.control.js';
import { answerError } from './e2b.errors.js';
import type { E2bMachine } from './e2b.machine.js';

/** A node that cannot pause now can a little later. */
const ATTEMPTS = 6;

/**
 * Pauses a sandbox, with its memory and its processes. Everything that is open in it is let go of before. Resolves once
 * it is paused; whatever a request said, in the end the service is asked.
 */
export async function suspendSandbox(machine: E2bMachine, deadline: Deadline): Promise<void> {
  const { control, residents, id } = machine;
  await residents.park(id);
  try {
    await control.retry(deadline, () => pause(machine, deadline), ATTEMPTS);
  } catch (error) {
    residents.unpark(id);
    throw error;
  }
  residents.parked(id);
}

async function pause(machine: E2bMachine, deadline: Deadline): Promise<void> {
  const { control, id } = machine;
  let failure: unknown;
  try {
    const answer = await control.send({ method: 'POST', path: sandboxPath(id, 'pause'), json: {}, deadline });
    if (answer.ok) return;
    failure = answerError(answer);
  } catch (error) {
    failure = error;
  }
  if (!(failure instanceof SandboxError) || deadline.signal.aborted || failure.code === 'denied') throw failure;
  const sandbox = await control.find(id, deadline).catch((error: unknown) => {
    throw unconfirmed('the pause', error);
  });
  if (sandbox === undefined) {
    const gone = machine.gone();
    throw failure.effect === 'unknown' ? gone.with({ effect: 'unknown' }) : gone;
  }
  // A sandbox that is being paused is shown so, too.
  if (sandbox.state === 'suspended') return;
  throw failure.code === 'unavailable' || failure.code === 'rate_limited' ? failure : unconfirmed('the pause', failure);
}
