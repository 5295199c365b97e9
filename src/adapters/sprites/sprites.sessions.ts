import type { SandboxSession } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { asObject } from '../common/json.js';
import { findTag, formatSessionId } from '../common/session-id.js';
import { spritePath, type SpritesClient } from './sprites.client.js';
import { answerError, checkCount, malformedReply } from './sprites.errors.js';

/** A live session as the service lists it. */
export interface LiveSession {
  readonly pid: string;
  readonly command: string;
  readonly createdAt: Date | undefined;
  readonly lastActivityAt: Date | undefined;
  readonly tty: boolean;
}

/** All of a sprite. An ended one disappears at once. */
export async function liveSessions(client: SpritesClient, name: string, deadline: Deadline): Promise<LiveSession[]> {
  const answer = await client.sendAgain({ method: 'GET', path: spritePath(name, 'exec'), deadline });
  if (!answer.ok) throw answerError(answer);
  const body = answer.json();
  const entries = Array.isArray(body) ? (body as unknown[]) : asObject(body)?.['sessions'];
  if (!Array.isArray(entries)) throw malformedReply('the list of sessions');
  checkCount(body, entries, 'the list of sessions');
  return entries.map((entry: unknown) => {
    const { id, command, created, last_activity: lastActivity, tty } = asObject(entry) ?? {};
    const pid = typeof id === 'number' ? String(id) : id;
    if (typeof pid !== 'string' || pid === '') throw malformedReply('the list of sessions');
    return {
      pid,
      command: typeof command === 'string' ? command : '',
      createdAt: dateOf(created),
      lastActivityAt: dateOf(lastActivity),
      tty: tty === true,
    };
  });
}

/** Ours that are detachable, by their ids, and what others started, as it is. */
export function listedSessions(sessions: readonly LiveSession[]): SandboxSession[] {
  return sessions.flatMap(({ pid, command, createdAt, lastActivityAt, tty }) => {
    const tag = findTag(command);
    if (tag === undefined) return [{ id: pid, command, createdAt, lastActivityAt, tty }];
    if (tag.kind !== 'd') return [];
    const id = formatSessionId({ pid, nonce: tag.nonce });
    return [{ id, command: tag.rest ?? '', createdAt, lastActivityAt, tty }];
  });
}

function dateOf(value: unknown): Date | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const date = new Date(typeof value === 'number' ? value * 1000 : value);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
