import { SandboxError } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import type { HttpAnswer } from '../common/http-client.js';
import { metadataFilter } from './e2b.claim.js';
import type { E2bControl } from './e2b.control.js';
import { answerError, malformedReply } from './e2b.errors.js';
import { sandboxResource, type SandboxResource } from './e2b.resource.js';

/** The service gives at most 100 a page: with more than this many pages the paging is not believed. */
const MAX_PAGES = 1000;

/**
 * Our sandboxes, running and paused, all that match. A page that fails, fails the whole. The oldest come first: one that
 * is resumed meanwhile moves to the end, where it is seen again, and none is missed.
 *
 * @throws {SandboxError} `truncated`: the paging does not come to an end
 */
export async function listSandboxes(
  control: E2bControl,
  filter: { readonly name?: string; readonly nonce?: string },
  deadline: Deadline,
): Promise<SandboxResource[]> {
  const found = new Map<string, SandboxResource>();
  const seen = new Set<string>();
  let next: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await control.sendAgain({
      method: 'GET',
      path: '/v2/sandboxes',
      query: query(filter, next),
      deadline,
    });
    if (answer.status !== 200) throw listError(answer);
    const entries = answer.json();
    if (!Array.isArray(entries)) throw malformedReply('the list of sandboxes');
    for (const entry of entries) {
      const sandbox = sandboxResource(entry);
      if (sandbox === undefined) throw malformedReply('the list of sandboxes');
      // Whether or not the filter was heeded.
      const matches = sandbox.name !== undefined && (filter.name === undefined || filter.name === sandbox.name);
      if (matches && (filter.nonce === undefined || filter.nonce === sandbox.claim?.nonce))
        found.set(sandbox.id, sandbox);
    }
    next = answer.headers.get('x-next-token') ?? undefined;
    if (next === undefined || next === '') return [...found.values()];
    if (seen.has(next)) throw endless('a page was given twice');
    seen.add(next);
  }
  throw endless(`there are more than ${MAX_PAGES} pages`);
}

function query(
  filter: { readonly name?: string; readonly nonce?: string },
  next: string | undefined,
): [string, string][] {
  const pairs: [string, string][] = [
    ['metadata', metadataFilter(filter)],
    ['state', 'running,paused'],
    ['order', 'asc'],
    ['limit', '100'],
  ];
  if (next !== undefined) pairs.push(['nextToken', next]);
  return pairs;
}

/** A list that is not there says nothing about a sandbox, and what is accepted or a part is not the whole. */
function listError(answer: HttpAnswer): SandboxError {
  return answer.ok || answer.status === 404 ? malformedReply('the list of sandboxes') : answerError(answer);
}

function endless(why: string): SandboxError {
  return new SandboxError('truncated', { effect: 'none', message: `not all sandboxes could be listed: ${why}` });
}
