import { SandboxError } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { bodyOf, unconfirmed } from '../common/failed-answer.js';
import { sandboxPath, type E2bControl } from './e2b.control.js';
import { answerError, malformedReply, noSandbox } from './e2b.errors.js';
import type { E2bResidents } from './e2b.residents.js';
import type { SandboxResource } from './e2b.resource.js';

/** A node that cannot pause now can a little later. */
const ATTEMPTS = 6;
/** How the service says that a pause is complete. */
const DONE = 204;

/**
 * Pauses a sandbox, with its memory and its processes. Everything that is open in it is let go of before. Resolves once
 * it is paused: the service shows it so while it still works on that and may fail, and only who asks for a pause waits
 * for its end.
 */
export async function suspendSandbox(
  control: E2bControl,
  residents: E2bResidents,
  sandbox: SandboxResource,
  deadline: Deadline,
): Promise<void> {
  const { id } = sandbox;
  await residents.park(id);
  try {
    await control.retry(deadline, () => pause(control, sandbox, deadline), ATTEMPTS);
  } catch (error) {
    residents.unpark(id);
    throw error;
  }
  residents.parked(id);
}

async function pause(control: E2bControl, { id, name = '' }: SandboxResource, deadline: Deadline): Promise<void> {
  let failure: unknown;
  let wasPaused = false;
  try {
    const answer = await control.send({ method: 'POST', path: sandboxPath(id, 'pause'), json: {}, deadline });
    if (answer.status === DONE) return;
    wasPaused = answer.status === 409 && bodyOf(answer)?.['code'] === 409;
    failure = answer.ok ? malformedReply('the pause') : answerError(answer);
  } catch (error) {
    failure = error;
  }
  if (!(failure instanceof SandboxError) || deadline.signal.aborted || failure.code === 'denied') throw failure;
  const found = await control.find(id, deadline).catch((error: unknown) => {
    throw unconfirmed('the pause', error);
  });
  if (found === undefined) {
    const gone = noSandbox(name);
    throw failure.effect === 'unknown' ? gone.with({ effect: 'unknown' }) : gone;
  }
  if (wasPaused && found.state === 'suspended') return;
  const isPassing = failure.code === 'unavailable' || failure.code === 'rate_limited';
  throw isPassing && found.state !== 'suspended' ? failure : unconfirmed('the pause', failure);
}
