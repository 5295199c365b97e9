import type { Answer } from '../kit/answer.js';
import { apiFailure } from './api-failure.js';
import type { SandboxDto } from './dto.js';
import type { Fleet } from './fleet.js';

type SortKey = string | number;

/** Fields that can be sorted by, and what they are called in a sandbox. */
const SORTS: Readonly<Record<string, string>> = {
  name: 'name',
  cpu: 'cpu',
  memoryGib: 'memory',
  diskGib: 'disk',
  lastActivityAt: 'lastActivityAt',
  createdAt: 'createdAt',
};

/** The cursor that leads to the first page, which no page has by itself. */
export const FIRST_PAGE = Buffer.from('{}').toString('base64');

interface Position {
  readonly key: SortKey;
  readonly id: string;
}

/** `GET /sandbox`: one page; the cursor says after which sort value and id the next begins. */
export function listSandboxes(fleet: Fleet, query: URLSearchParams): Answer {
  const { alternatives, pageSize } = fleet.settings;
  const asked = Number(query.get('limit') ?? 100);
  if (!Number.isInteger(asked) || asked < 1) throw apiFailure(400, 'limit must not be less than 1');
  if (asked > 200) throw apiFailure(400, 'limit must not be greater than 200');
  const sort = SORTS[query.get('sort') ?? 'lastActivityAt'];
  if (!sort) throw apiFailure(400, `sort must be one of the following values: ${Object.keys(SORTS).join(', ')}`);
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc')
    throw apiFailure(400, 'order must be one of the following values: asc, desc');
  const position = (entry: SandboxDto): Position => ({ key: entry[sort] as SortKey, id: entry.id });
  const before = (a: Position, b: Position) => compare(a, b) * (order === 'asc' ? 1 : -1);
  const cursor = query.get('cursor');
  const after = cursor && cursor !== FIRST_PAGE ? positionIn(cursor) : undefined;
  const shown = fleet.index.entries
    .filter(filterOf(query))
    .toSorted((a, b) => before(position(a), position(b)))
    .filter((entry) => !after || before(position(entry), after) > 0);
  const page = shown.slice(0, Math.min(asked, pageSize));
  const more = shown.length > page.length;
  const nextCursor = more ? cursorTo(position(page.at(-1)!), alternatives.cursor) : alternatives.lastCursor;
  return { status: 200, json: { items: page, nextCursor } };
}

/** @throws {ApiFailure} 400 */
function filterOf(query: URLSearchParams): (entry: SandboxDto) => boolean {
  const labels = Object.entries(labelsOf(query.get('labels')));
  const name = query.get('name')?.toLowerCase() ?? '';
  const id = query.get('id') ?? '';
  const states = query.getAll('states');
  const snapshots = query.getAll('snapshots');
  const withErrored = query.get('includeErroredDeleted') === 'true';
  return (entry) => {
    const own = entry['labels'] as Readonly<Record<string, unknown>>;
    const deleted = entry['desiredState'] === 'destroyed' && /^(?:error|build_failed)$/.test(entry.state);
    return (
      (!deleted || withErrored) &&
      entry.name.toLowerCase().startsWith(name) &&
      entry.id.startsWith(id) &&
      labels.every(([key, value]) => own[key] === value) &&
      (states.length === 0 || states.includes(entry.state)) &&
      (snapshots.length === 0 || snapshots.includes(String(entry['snapshot'])))
    );
  };
}

function labelsOf(text: string | null): Record<string, unknown> {
  if (!text) return {};
  const labels = parsed(text);
  if (typeof labels === 'object' && labels !== null && !Array.isArray(labels)) return labels as Record<string, unknown>;
  throw apiFailure(400, 'Invalid labels JSON format');
}

function compare(a: Position, b: Position): number {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}

function cursorTo({ key, id }: Position, form: 'object' | 'array'): string {
  return Buffer.from(JSON.stringify(form === 'object' ? { sortValue: key, id } : [key, id])).toString('base64');
}

/** @throws {ApiFailure} 400 */
function positionIn(cursor: string): Position {
  const value = parsed(Buffer.from(cursor, 'base64').toString());
  const [key, id] = Array.isArray(value)
    ? (value as unknown[])
    : [(Object(value) as Record<string, unknown>)['sortValue'], (Object(value) as Record<string, unknown>)['id']];
  if ((typeof key === 'string' || typeof key === 'number') && typeof id === 'string') return { key, id };
  throw apiFailure(400, 'Invalid cursor provided: it cannot be decoded');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
