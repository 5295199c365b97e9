import { SandboxError, type TerminateRequest } from '#libs/contract';
import { withinDeadline } from '../common/deadline.js';
import { unconfirmed } from '../common/failed-answer.js';
import { parseSessionId } from '../common/session-id.js';
import { TRANSPORT_MS, onlyAsked } from '../common/termination.js';
import type { InSandbox } from './daytona.context.js';
import { checkForeign } from './daytona.sessions.js';
import { stopSession } from './daytona.stop.js';

/**
 * Stops a session of ours. Resolves once it was seen to be gone, or was not there; a sandbox that the control plane calls
 * stopped has no processes, and is not started to look; one whose processes stand still is.
 */
export async function terminateSession(
  context: InSandbox,
  { sessionId, timeoutMs, mode, signal }: TerminateRequest,
): Promise<void> {
  const { toolboxes, handle } = context;
  const id = parseSessionId(sessionId);
  await withinDeadline(timeoutMs + TRANSPORT_MS, signal, async (deadline) => {
    const toolbox = await toolboxes.ready(handle, deadline, 'frozen').catch(onlyAsked);
    if (toolbox === undefined) return;
    if (id === undefined) return checkForeign(context, sessionId, deadline).catch(onlyAsked);
    const stop = { ...id, graceMs: mode === 'force' ? 0 : timeoutMs };
    const stopped = await stopSession(context, stop, deadline).catch(lostAnswer);
    if (stopped === 'there') throw unconfirmed('the end of the session');
  });
}

/** What was not sent did nothing; of everything else it is unknown. */
function lostAnswer(error: unknown): never {
  if (!(error instanceof SandboxError) || error.code === 'aborted' || error.effect === 'none') throw error;
  throw unconfirmed('the end of the session', error);
}
