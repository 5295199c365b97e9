import type { EmulatorServer } from '../kit/emulator-server.js';
import type { Fleet } from './fleet.js';
import { listSprites } from './list.js';
import { refusal } from './refusals.js';
import { resourceOf } from './resource.js';
import { applyUpdate, updateOf } from './update.js';

const NAME = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const SPRITE = '/v1/sprites/:name';

export function addManagementRoutes(server: EmulatorServer, fleet: Fleet): void {
  const { alternatives } = fleet.settings;
  server.route('GET', '/v1/sprites', async (exchange) => await listSprites(fleet, exchange));

  server.route('POST', '/v1/sprites', async (exchange) => {
    const body = Object((await exchange.json()) ?? {}) as Record<string, unknown>;
    const name = nameOf(body['name']);
    const update = updateOf(body);
    const sprite = await fleet.create(name);
    applyUpdate(sprite, update);
    const json = alternatives.createBody === 'name_only' ? { name } : resourceOf(sprite);
    await exchange.reply({ status: alternatives.createStatus, json });
  });

  server.route('GET', SPRITE, async (exchange) => {
    const name = exchange.params['name']!;
    await fleet.settled(name);
    await exchange.reply({ status: 200, json: resourceOf(fleet.get(name)) });
  });

  server.route('PUT', SPRITE, async (exchange) => {
    const update = updateOf(Object((await exchange.json()) ?? {}) as Record<string, unknown>);
    const sprite = fleet.get(exchange.params['name']!);
    applyUpdate(sprite, update);
    sprite.updatedAt = new Date();
    await exchange.reply({ status: 200, json: resourceOf(sprite) });
  });

  server.route('DELETE', SPRITE, async (exchange) => {
    await fleet.delete(exchange.params['name']!);
    await exchange.reply({ status: alternatives.deleteStatus });
  });

  server.route('POST', `${SPRITE}/restart`, async (exchange) => {
    const { name, id, power } = fleet.get(exchange.params['name']!);
    await power.pause('cold');
    const json = { sprite_name: name, machine_id: id.slice(-12), message: 'restart requested' };
    await exchange.reply({ status: 202, json });
  });

  server.route('POST', `${SPRITE}/upgrade`, async (exchange) => {
    fleet.get(exchange.params['name']!);
    await exchange.reply({ status: 204 });
  });

  server.route('GET', `${SPRITE}/check`, async (exchange) => {
    const { name, id } = fleet.get(exchange.params['name']!);
    const checked = { status: 'healthy', reason: null, checked_at: new Date().toISOString(), elapsed: 0 };
    await exchange.reply({ status: 200, json: { sprite_name: name, sprite_id: id, ...checked } });
  });
}

function nameOf(name: unknown): string {
  if (typeof name === 'string' && NAME.test(name)) return name;
  throw refusal(400, 'invalid request', { message: 'name must be lowercase letters, digits and hyphens' });
}
