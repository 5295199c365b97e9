import type { Exchange } from '../kit/exchange.js';
import type { Fleet } from './fleet.js';
import { refusal } from './refusals.js';
import { entryOf } from './resource.js';

/** `GET /v1/sprites`: one page, in the order of names; the token says after which name the next begins. */
export async function listSprites(fleet: Fleet, exchange: Exchange): Promise<void> {
  const { query } = exchange;
  const counters = fleet.counters;
  if ((exchange.headers.accept ?? '').includes('application/x-ndjson')) return await streamStates(fleet, exchange);
  const prefix = query.get('prefix') ?? '';
  const token = query.get('continuation_token');
  const after = token ? nameAfter(token) : '';
  const asked = Number(query.get('max_results') ?? fleet.settings.pageSize);
  if (!Number.isInteger(asked) || asked < 1) throw refusal(400, 'invalid max_results');
  const size = Math.min(asked, fleet.settings.pageSize);
  const rest = fleet.all.filter(({ name }) => name.startsWith(prefix) && name > after);
  const page = rest.slice(0, size);
  const more = rest.length > size;
  return await exchange.reply({
    status: 200,
    json: {
      ...counters,
      org: counters,
      sprites: page.map((sprite) => entryOf(sprite, query.get('bulk_load') === 'true')),
      has_more: more,
      next_continuation_token: more ? Buffer.from(`after:${page.at(-1)!.name}`).toString('base64url') : null,
    },
  });
}

/** The state of each sprite, one event a line. */
async function streamStates(fleet: Fleet, exchange: Exchange): Promise<void> {
  await exchange.begin(200, { 'content-type': 'application/x-ndjson' });
  for (const { name, power } of fleet.all) {
    const event = {
      name,
      status: power.status,
      running_version: '0.0.1-rc46',
      last_running_at: power.lastRunningAt?.toISOString() ?? null,
      last_warming_at: power.lastWarmingAt?.toISOString() ?? null,
      timestamp: new Date().toISOString(),
      org: fleet.counters,
    };
    await exchange.write(`${JSON.stringify(event)}\n`);
  }
  await exchange.end();
}

function nameAfter(token: string): string {
  const text = Buffer.from(token, 'base64url').toString();
  if (!text.startsWith('after:')) throw refusal(400, 'invalid continuation_token');
  return text.slice('after:'.length);
}
