import type { EmulatorServer } from '../kit/emulator-server.js';
import type { Exchange } from '../kit/exchange.js';
import type { Checkpoint } from './checkpoints.js';
import type { Fleet } from './fleet.js';
import { NdjsonAnswer } from './ndjson-answer.js';
import type { Sprite } from './sprite.js';
import { enterVm, VM_HEADERS, type VmUse } from './vm.js';

const SPRITE = '/v1/sprites/:name';
const ONE = `${SPRITE}/checkpoints/:id`;

export function addCheckpointRoutes(server: EmulatorServer, fleet: Fleet): void {
  const route = (method: string, path: string, act: (exchange: Exchange, sprite: Sprite) => Promise<void>) => {
    server.route(method, path, async (exchange) => {
      const use: VmUse = await enterVm(fleet, exchange);
      await act(exchange, use.sprite).finally(use.leave);
    });
  };
  route('POST', `${SPRITE}/checkpoint`, create);
  route('GET', `${SPRITE}/checkpoints`, list);
  route('POST', `${ONE}/restore`, restore);
  route('GET', ONE, async (exchange, sprite) => {
    const json = shown(sprite.checkpoints.get(exchange.params['id']!));
    await exchange.reply({ status: 200, headers: VM_HEADERS, json });
  });
  route('DELETE', ONE, async (exchange, sprite) => {
    await sprite.checkpoints.delete(exchange.params['id']!);
    await exchange.reply({ status: sprite.settings.alternatives.checkpointDeleteStatus, headers: VM_HEADERS });
  });
}

/** The id is only told in prose, as the service does it. */
async function create(exchange: Exchange, sprite: Sprite): Promise<void> {
  const { comment } = Object((await exchange.json()) ?? {}) as { readonly comment?: unknown };
  await told(exchange, 'Creating checkpoint...', async () => {
    const { id } = await sprite.checkpoints.create(typeof comment === 'string' ? comment : undefined);
    return `Checkpoint ${id} created`;
  });
}

async function list(exchange: Exchange, sprite: Sprite): Promise<void> {
  if (exchange.query.has('history')) {
    const lines = sprite.checkpoints.list(true).map(({ id, createdAt }) => `${id}\t${createdAt.toISOString()}\n`);
    return await exchange.reply({ status: 200, headers: VM_HEADERS, text: lines.join('') });
  }
  const found = sprite.checkpoints.list(exchange.query.get('includeAuto') === 'true');
  return await exchange.reply({ status: 200, headers: VM_HEADERS, json: found.map(shown) });
}

/** Ends every session; the next execs find the sprite restarting. */
async function restore(exchange: Exchange, sprite: Sprite): Promise<void> {
  const { id } = sprite.checkpoints.get(exchange.params['id']!);
  await told(exchange, `Restoring checkpoint ${id}...`, async () => {
    await sprite.endProcesses();
    if (sprite.settings.alternatives.restoreBackup) await sprite.checkpoints.create(`before restore of ${id}`, true);
    await sprite.checkpoints.restore(id);
    sprite.restartLeft = sprite.settings.restartRequests;
    return `Restored checkpoint ${id}`;
  });
}

/** Does it between an `info` line and the last one. What goes wrong is said inside the 200. */
async function told(exchange: Exchange, info: string, act: () => Promise<string>): Promise<void> {
  const answer = new NdjsonAnswer(exchange);
  await answer.begin();
  await answer.line({ type: 'info', data: info, time: new Date().toISOString() });
  const outcome = await act().then(
    (data) => ({ type: 'complete', data }),
    (error: unknown) => ({ type: 'error', error: String(error) }),
  );
  await answer.line({ ...outcome, time: new Date().toISOString() });
  await exchange.end();
}

function shown({ id, createdAt, comment, sourceId, auto }: Checkpoint): Record<string, unknown> {
  return {
    id,
    create_time: createdAt.toISOString(),
    ...(comment !== undefined && { comment }),
    ...(sourceId !== undefined && { source_id: sourceId }),
    ...(auto && { is_auto: true }),
  };
}
