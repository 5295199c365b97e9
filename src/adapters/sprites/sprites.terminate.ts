import { SandboxError, type SandboxHandle, type TerminateRequest } from '#libs/contract';
import { Deadline } from '../common/deadline.js';
import { noSession } from '../common/journal-errors.js';
import { parseSessionId } from '../common/session-id.js';
import type { SpritesClient } from './sprites.client.js';
import { answerError, unconfirmed } from './sprites.errors.js';
import { checkForeign, findSession } from './sprites.find-session.js';
import { killProcess, type KillOutcome } from './sprites.kill.js';
import type { SpritesManagement } from './sprites.management.js';
import { probeSession, recordKill } from './sprites.probe.js';

/** Beyond the grace, for the requests. */
const TRANSPORT_MS = 5_000;

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
  const deadline = new Deadline(timeoutMs + TRANSPORT_MS, abort);
  try {
    await management.verify(handle, deadline);
    if (id === undefined) return await checkForeign(client, name, sessionId, deadline).catch(onlyAsked);
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
      const left = await findSession(client, name, id, deadline).catch(lostAnswer);
      if (left === 'live') throw unconfirmed('the end of the session');
    }
    await conclude(client, name, id.nonce, mode, outcome);
  } finally {
    deadline[Symbol.dispose]();
  }
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

/** Nothing was signalled yet; whoever aborts a stop is promised nothing all the same. */
function onlyAsked(error: unknown): never {
  throw error instanceof SandboxError && error.code !== 'aborted' ? error.with({ effect: 'none' }) : error;
}

/** What was not sent did nothing; of everything else it is unknown. */
function lostAnswer(error: unknown): never {
  if (!(error instanceof SandboxError) || error.code === 'aborted' || error.code === 'denied') throw error;
  throw error.effect === 'none' ? error : unconfirmed('the end of the session', error);
}

/** So that whoever reads the session learns how it ended. It is gone either way. */
async function record(client: SpritesClient, name: string, nonce: string): Promise<void> {
  const deadline = new Deadline(RECORD_MS);
  await recordKill(client, name, nonce, deadline).catch(() => {});
  deadline[Symbol.dispose]();
}
