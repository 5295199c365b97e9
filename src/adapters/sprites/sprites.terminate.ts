import { SandboxError, type SandboxHandle, type TerminateRequest } from '#libs/contract';
import { withinDeadline } from '../common/deadline.js';
import { notProved, unconfirmed } from '../common/failed-answer.js';
import { noSession } from '../common/journal-errors.js';
import { parseSessionId } from '../common/session-id.js';
import { TRANSPORT_MS, onlyAsked } from '../common/termination.js';
import type { SpritesClient } from './sprites.client.js';
import { answerError } from './sprites.errors.js';
import { checkForeign, findSession } from './sprites.find-session.js';
import { killProcess, type KillOutcome } from './sprites.kill.js';
import type { SpritesManagement } from './sprites.management.js';
import { probeSession, recordKill } from './sprites.probe.js';

/** What of the 5 s a record of the kill may take. */
const RECORD_MS = 2_000;

/**
 * Stops a session of ours. Resolves once the service proved it gone, or it was not there; of a forced one the sandbox then
 * has to say so too.
 */
export async function terminateSession(
  client: SpritesClient,
  management: SpritesManagement,
  handle: SandboxHandle,
  { sessionId, timeoutMs, mode, signal: abort }: TerminateRequest,
): Promise<void> {
  const id = parseSessionId(sessionId);
  const { name } = handle;
  await withinDeadline(timeoutMs + TRANSPORT_MS, abort, async (deadline) => {
    await management.verify(handle, deadline);
    if (id === undefined) return checkForeign(client, name, sessionId, deadline).catch(onlyAsked);
    const found = await findSession(client, name, id, deadline).catch(onlyAsked);
    if (found === 'another') throw noSession();
    if (found === 'absent') {
      if (mode === 'graceful') return;
      const { state } = await probeSession(client, name, id.nonce, deadline).catch(onlyAsked);
      if (state === 'alive' || state === 'lost') throw unconfirmed('the end of the session').with({ effect: 'none' });
      return;
    }
    const signal = mode === 'force' ? 'SIGKILL' : 'SIGTERM';
    const request = { name, pid: id.pid, signal, graceMs: timeoutMs } as const;
    const outcome = await killProcess(client, request, deadline).catch(lostAnswer);
    if (outcome.outcome === 'ended') {
      // A 404 may be that of something on the way: the list that had it must be without it.
      const left = await findSession(client, name, id, deadline).catch(notProved('the end of the session'));
      if (left === 'live') throw unconfirmed('the end of the session');
    }
    await conclude(client, name, id.nonce, mode, outcome);
  });
}

async function conclude(
  client: SpritesClient,
  name: string,
  nonce: string,
  mode: TerminateRequest['mode'],
  outcome: KillOutcome,
): Promise<void> {
  if (outcome.outcome === 'refused') throw answerError(outcome.answer);
  if (outcome.outcome === 'unproved') throw unconfirmed('the end of the session');
  if (outcome.outcome === 'ended' && outcome.status === 404 && mode === 'force') {
    throw unconfirmed('the end of the session');
  }
  if (outcome.outcome === 'gone' && outcome.killed) await record(client, name, nonce);
}

/** What was not sent did nothing; of everything else it is unknown. */
function lostAnswer(error: unknown): never {
  if (!(error instanceof SandboxError) || error.code === 'aborted' || error.code === 'denied') throw error;
  throw error.effect === 'none' ? error : unconfirmed('the end of the session', error);
}

/** So that whoever reads the session learns how it ended. It is gone either way. */
async function record(client: SpritesClient, name: string, nonce: string): Promise<void> {
  await withinDeadline(RECORD_MS, undefined, (left) => recordKill(client, name, nonce, left)).catch(() => {});
}
