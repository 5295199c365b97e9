import type { Exchange } from '../kit/exchange.js';
import { metadataFilterOf } from './metadata-filter.js';
import { refusal } from './refusals.js';
import { listedOf } from './resource.js';
import type { Sandbox } from './sandbox.js';
import type { Sandboxes } from './sandboxes.js';

const MOST_ENTRIES = 100;
const STATES: ReadonlySet<string> = new Set(['running', 'paused']);

/** `GET /v2/sandboxes`: one page; a header says how to get the next. */
export async function listSandboxes(sandboxes: Sandboxes, exchange: Exchange): Promise<void> {
  const { query } = exchange;
  const states = statesOf(query.get('state'));
  const ascending = query.get('order') === 'asc';
  const direction = ascending ? 1 : -1;
  const limit = limitOf(query.get('limit'));
  const after = tokenOf(query.get('nextToken'));
  const found = matching(sandboxes, query)
    .filter(({ lifecycle }) => states.has(lifecycle.shown!))
    .toSorted((a, b) => direction * compare(positionOf(a), positionOf(b)));
  const rest = after ? found.filter((sandbox) => direction * compare(positionOf(sandbox), after) > 0) : found;
  const page = rest.slice(0, limit);
  const more = rest.length > limit;
  const running = found.filter(({ lifecycle }) => lifecycle.shown === 'running').length;
  await exchange.reply({
    status: 200,
    headers: {
      ...(more && { 'x-next-token': tokenFor(page.at(-1)!, ascending) }),
      ...(states.size === 1 && states.has('running') && { 'x-total-running': String(running) }),
    },
    json: page.map(listedOf),
  });
}

/** `GET /sandboxes`: all that run. */
export async function listRunning(sandboxes: Sandboxes, exchange: Exchange): Promise<void> {
  const running = matching(sandboxes, exchange.query).filter(({ lifecycle }) => lifecycle.shown === 'running');
  await exchange.reply({ status: 200, json: running.map(listedOf) });
}

function matching(sandboxes: Sandboxes, query: URLSearchParams): Sandbox[] {
  const filter = query.get('metadata');
  const wanted = filter === null || filter === '' ? [] : metadataFilterOf(filter);
  const template = query.get('template');
  const startedAfter = query.get('startedAfter');
  const since = startedAfter === null ? -Infinity : Date.parse(startedAfter);
  if (Number.isNaN(since)) throw refusal(400, 'Invalid startedAfter');
  const now = performance.now();
  return sandboxes.all.filter(({ lifecycle, request, listedFrom, templateId }) => {
    if (lifecycle.shown === undefined || now < listedFrom) return false;
    if (lifecycle.startedAt.getTime() < since || (template !== null && template !== templateId)) return false;
    return wanted.every(([key, value]) => request.metadata?.[key] === value);
  });
}

type Position = readonly [time: string, id: string];

/** A resume is a new start, so it moves a sandbox. */
function positionOf({ id, lifecycle }: Sandbox): Position {
  return [lifecycle.startedAt.toISOString(), id];
}

function compare(a: Position, b: Position): number {
  if (a[0] !== b[0]) return a[0] < b[0] ? -1 : 1;
  return a[1] === b[1] ? 0 : a[1] < b[1] ? -1 : 1;
}

function tokenFor(sandbox: Sandbox, ascending: boolean): string {
  const text = [...positionOf(sandbox), ...(ascending ? ['asc'] : [])].join('__');
  return Buffer.from(text).toString('base64url');
}

function tokenOf(token: string | null): Position | undefined {
  if (token === null || token === '') return undefined;
  const [time = '', id = ''] = Buffer.from(token, 'base64url').toString().split('__');
  if (Number.isNaN(Date.parse(time)) || id === '') throw refusal(400, 'Invalid next token');
  return [time, id];
}

function statesOf(text: string | null): ReadonlySet<string> {
  if (text === null || text === '') return STATES;
  const states = new Set(text.split(','));
  for (const state of states) {
    if (!STATES.has(state)) throw refusal(400, `validation error: "state" has no value ${state}`);
  }
  return states;
}

function limitOf(text: string | null): number {
  const limit = text === null ? MOST_ENTRIES : Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MOST_ENTRIES) return limit;
  throw refusal(400, `validation error: "limit" must be between 1 and ${MOST_ENTRIES}`);
}
