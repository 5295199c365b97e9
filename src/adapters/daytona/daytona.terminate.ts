import { SandboxError, type TerminateRequest } from '#libs/contract';
import { Deadline } from '../common/deadline.js';
import { parseSessionId } from '../common/session-id.js';
import type { InSandbox } from './daytona.context.js';
import { unconfirmed } from './daytona.errors.js';
import { checkForeign } from './daytona.sessions.js';
import { stopSession } from './daytona.stop.js';

/** Beyond the grace, for the requests. */
const TRANSPORT_MS = 5_000;

/**
 * Stops a session of ours. Resolves once it was seen to be gone, or was not there; a sandbox that the control plane calls
 * stopped has no processes, and is not started to look.
 */
export async function terminateSession(
  context: InSandbox,
  { sessionId, timeoutMs, mode, signal }: TerminateRequest,
): Promise<void> {
  const { toolboxes, handle } = context;
  const id = parseSessionId(sessionId);
  const deadline = new Deadline(timeoutMs + TRANSPORT_MS, signal);
  try {
    const toolbox = await toolboxes.ready(handle, deadline, false).catch(onlyAsked);
    if (toolbox === undefined) return;
    if (id === undefined) return await checkForeign(context, sessionId, deadline).catch(onlyAsked);
    const stop = { ...id, graceMs: mode === 'force' ? 0 : timeoutMs };
    const stopped = await stopSession(context, stop, deadline).catch(lostAnswer);
    if (stopped === 'there') throw unconfirmed('the end of the session');
  } finally {
    deadline[Symbol.dispose]();
  }
}

/** Nothing was signalled yet; whoever aborts a stop is promised nothing all the same. */
function onlyAsked(error: unknown): never {
  throw error instanceof SandboxError && error.code !== 'aborted' ? error.with({ effect: 'none' }) : error;
}

/** What was not sent did nothing; of everything else it is unknown. */
function lostAnswer(error: unknown): never {
  if (!(error instanceof SandboxError) || error.code === 'aborted' || error.effect === 'none') throw error;
  throw unconfirmed('the end of the session', error);
}
