import type { Deadline } from '../common/deadline.js';
import { unconfirmed } from '../common/failed-answer.js';
import { foreignSession } from '../common/journal-errors.js';
import { findTag, type SessionId } from '../common/session-id.js';
import type { SpritesClient } from './sprites.client.js';
import { probeSession } from './sprites.probe.js';
import { liveSessions } from './sprites.sessions.js';

/**
 * Whether the live process with the id of a session is that session: the service gives the ids of ended processes to
 * new ones. Where its list does not show our tag, the sandbox is asked.
 */
export async function findSession(
  client: SpritesClient,
  name: string,
  { pid, nonce }: SessionId,
  deadline: Deadline,
): Promise<'live' | 'absent' | 'another'> {
  const entry = (await liveSessions(client, name, deadline)).find((session) => session.pid === pid);
  if (entry === undefined) return 'absent';
  const tag = findTag(entry.command);
  if (tag !== undefined) return tag.nonce === nonce ? 'live' : 'another';
  const asked = await probeSession(client, name, nonce, deadline);
  if (asked.state !== 'alive') return 'another';
  if (asked.pid === pid) return 'live';
  throw unconfirmed('which process the session is').with({ effect: 'none' });
}

/** Of an id that is none of ours: that no live session has it. @throws {SandboxError} `not_supported` */
export async function checkForeign(
  client: SpritesClient,
  name: string,
  sessionId: string,
  deadline: Deadline,
): Promise<void> {
  const sessions = await liveSessions(client, name, deadline);
  if (sessions.some(({ pid }) => pid === sessionId)) throw foreignSession();
}
