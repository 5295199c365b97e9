import { SandboxError } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { asObject } from '../common/json.js';
import type { DaytonaClient } from './daytona.client.js';
import { malformedReply, partError } from './daytona.errors.js';
import { sandboxResource, type SandboxResource } from './daytona.resource.js';

const PAGE_SIZE = '200';
/** What the service takes for a page where it is not told, or does not heed it. */
const DEFAULT_PAGE_SIZE = 100;
/** With more pages than this the paging is not believed. */
const MAX_PAGES = 1000;

interface Page {
  readonly sandboxes: readonly SandboxResource[];
  /** `undefined`: the last one. */
  readonly next?: string;
}

/**
 * All sandboxes but those that are being deleted, as the index of the service knows them, which may lag behind. In the
 * order of their creation, since any other changes while the pages are fetched. A page that fails, fails the whole.
 *
 * @throws {SandboxError} `truncated`: the paging does not come to an end
 */
export async function listSandboxes(client: DaytonaClient, deadline: Deadline): Promise<SandboxResource[]> {
  const found = new Map<string, SandboxResource>();
  const seen = new Set<string>();
  let next: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { sandboxes, next: after } = await fetchPage(client, next, deadline);
    for (const sandbox of sandboxes) found.set(sandbox.id, sandbox);
    if (after === undefined) return [...found.values()].filter(({ phase }) => phase !== 'going');
    if (seen.has(after)) throw endless('a page was given twice');
    seen.add(after);
    next = after;
  }
  throw endless(`there are more than ${MAX_PAGES} pages`);
}

async function fetchPage(client: DaytonaClient, cursor: string | undefined, deadline: Deadline): Promise<Page> {
  const query: [string, string][] = [
    ['limit', PAGE_SIZE],
    ['sort', 'createdAt'],
    ['order', 'asc'],
  ];
  if (cursor !== undefined) query.push(['cursor', cursor]);
  const answer = await client.sendAgain({ method: 'GET', path: '/sandbox', query, deadline });
  if (!answer.ok) throw partError(answer);
  const body = answer.json();
  const { items, nextCursor, cursor: other, total, totalPages } = asObject(body) ?? {};
  const entries = Array.isArray(body) ? (body as unknown[]) : items;
  if (!Array.isArray(entries)) throw malformedReply('the list of sandboxes');
  const sandboxes = entries.map((entry: unknown) => {
    const sandbox = sandboxResource(entry);
    if (sandbox === undefined) throw malformedReply('the list of sandboxes');
    return sandbox;
  });
  const next = nextCursor ?? other ?? '';
  if (typeof next !== 'string') throw malformedReply('the list of sandboxes');
  if (next !== '') return { sandboxes, next };
  // Where nothing says that it was the last, a full page may be the first of several.
  const isLast = nextCursor !== undefined || other !== undefined;
  const isFull = sandboxes.length >= DEFAULT_PAGE_SIZE || isBeyond(total, sandboxes.length) || isBeyond(totalPages, 1);
  if (!isLast && isFull) throw endless('there may be more, and no way to it');
  return { sandboxes };
}

function isBeyond(value: unknown, bound: number): boolean {
  return typeof value === 'number' && value > bound;
}

function endless(why: string): SandboxError {
  return new SandboxError('truncated', { effect: 'none', message: `not all sandboxes could be listed: ${why}` });
}
