import { SandboxError, type Checkpoint } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { mayHaveActed, unconfirmed } from '../common/failed-answer.js';
import type { HttpAnswer } from '../common/http-client.js';
import { asObject, parseJsonLines, type JsonObject } from '../common/json.js';
import { newNonce } from '../common/session-id.js';
import { spritePath, type SpritesClient } from './sprites.client.js';
import { answerError, malformedReply, restoreFailed } from './sprites.errors.js';

const MAX_ANSWER_BYTES = 1024 * 1024;

/** A checkpoint and a restore say how far they are for as long as they take. */
export const CHECKPOINT_TIMEOUT_MS = 600_000;

/** The list has an entry for the disk as it is, which is no checkpoint. */
const LIVE = 'Current';

/** Makes a checkpoint. Its id is that of the one listed with the comment it was made with. */
export async function createCheckpoint(client: SpritesClient, name: string, deadline: Deadline): Promise<Checkpoint> {
  const comment = `nestjs-sandbox:${newNonce()}`;
  const answer = await post(client, spritePath(name, 'checkpoint'), { comment }, deadline);
  if (!answer.ok) throw answerError(answer);
  const lines = parseJsonLines(answer.text());
  if (lines?.some(isFailure)) throw checkpointFailed();
  if (!isComplete(lines)) throw unconfirmed('the checkpoint');
  const entries = await listCheckpoints(client, name, deadline).catch(mayHaveActed);
  const [made, ...others] = entries.filter((entry) => entry['comment'] === comment && entry['id'] !== LIVE);
  const id = made?.['id'];
  if (others.length > 0 || typeof id !== 'string' || id === '') throw unconfirmed('the checkpoint');
  if (made?.['health'] === 'mount_failed') throw checkpointFailed();
  return { id };
}

async function listCheckpoints(client: SpritesClient, name: string, deadline: Deadline): Promise<JsonObject[]> {
  const answer = await client.sendAgain({ method: 'GET', path: spritePath(name, 'checkpoints'), deadline });
  if (!answer.ok) throw answerError(answer);
  return entriesIn(answer);
}

/** Puts the disk back, which ends every session. Resolves once the service said that it is done. */
export async function restoreCheckpoint(
  client: SpritesClient,
  name: string,
  id: string,
  deadline: Deadline,
): Promise<void> {
  if (id === LIVE || /^\.{1,2}$/.test(id)) throw noCheckpoint();
  const answer = await post(client, spritePath(name, 'checkpoints', id, 'restore'), undefined, deadline);
  if (!answer.ok) throw answerError(answer);
  const lines = parseJsonLines(answer.text());
  if (lines?.some(isFailure)) throw restoreFailed();
  if (!isComplete(lines)) throw unconfirmed('the restore');
}

function post(client: SpritesClient, path: string, json: object | undefined, deadline: Deadline): Promise<HttpAnswer> {
  return client.send({
    method: 'POST',
    path,
    ...(json && { json }),
    deadline,
    maxBytes: MAX_ANSWER_BYTES,
  });
}

function isFailure({ type, error }: JsonObject): boolean {
  return type === 'error' || (typeof error === 'string' && error !== '');
}

/** Any progress, and at the end that it is done. */
function isComplete(lines: readonly JsonObject[] | undefined): boolean {
  if (lines === undefined || lines.at(-1)?.['type'] !== 'complete') return false;
  return lines.slice(0, -1).every(({ type }) => type === 'info');
}

function entriesIn(answer: HttpAnswer): JsonObject[] {
  const body = answer.json();
  if (!Array.isArray(body)) throw malformedReply('the list of checkpoints');
  return (body as unknown[]).map((entry) => asObject(entry) ?? {});
}

function checkpointFailed(): SandboxError {
  return new SandboxError('provider', {
    effect: 'unknown',
    message: 'the Sprites API reported that the checkpoint failed',
  });
}

function noCheckpoint(): SandboxError {
  return new SandboxError('not_found', { effect: 'none', message: 'there is no such checkpoint of this sandbox' });
}
