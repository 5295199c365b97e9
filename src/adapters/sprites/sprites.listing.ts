import { SandboxError } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { asObject } from '../common/json.js';
import type { SpritesClient } from './sprites.client.js';
import { answerError, malformedReply } from './sprites.errors.js';

/** The service gives at most 50 a page: with more than this many pages the paging is not believed. */
const MAX_PAGES = 1000;

interface Page {
  readonly names: readonly string[];
  /** `undefined`: the last one. */
  readonly next?: string;
}

/**
 * The names of all sprites. A page that fails, fails the whole.
 *
 * @throws {SandboxError} `truncated`: the paging does not come to an end
 */
export async function listSpriteNames(client: SpritesClient, deadline: Deadline): Promise<string[]> {
  const names = new Set<string>();
  const seen = new Set<string>();
  let next: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const found = await fetchPage(client, next, deadline);
    for (const name of found.names) names.add(name);
    if (found.next === undefined) return [...names];
    if (seen.has(found.next)) throw endless('a page was given twice');
    seen.add(found.next);
    next = found.next;
  }
  throw endless(`there are more than ${MAX_PAGES} pages`);
}

async function fetchPage(client: SpritesClient, token: string | undefined, deadline: Deadline): Promise<Page> {
  const query: [string, string][] = [['max_results', '50']];
  if (token !== undefined) query.push(['continuation_token', token]);
  const answer = await client.sendAgain({ method: 'GET', path: '/v1/sprites', query, deadline });
  if (answer.status === 404 || answer.status === 410) throw malformedReply('the list of sprites');
  if (!answer.ok) throw answerError(answer);
  const { sprites, has_more: hasMore, next_continuation_token: next } = asObject(answer.json()) ?? {};
  if (!Array.isArray(sprites)) throw malformedReply('the list of sprites');
  const names = sprites.map((sprite: unknown) => {
    const name = asObject(sprite)?.['name'];
    if (typeof name !== 'string' || name === '') throw malformedReply('the list of sprites');
    return name;
  });
  const isLast = next === undefined || next === null || next === '';
  // Nothing but a plain no is taken for the end while there is a way on.
  if (hasMore === false || (hasMore === undefined && isLast)) return { names };
  if (hasMore !== true && hasMore !== undefined) throw malformedReply('the list of sprites');
  if (typeof next !== 'string' || isLast) throw endless('there is more, and no way to it');
  return { names, next };
}

function endless(why: string): SandboxError {
  return new SandboxError('truncated', { effect: 'none', message: `not all sprites could be listed: ${why}` });
}
