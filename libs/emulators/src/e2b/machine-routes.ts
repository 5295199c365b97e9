import type { Exchange } from '../kit/exchange.js';
import type { Routes } from '../kit/routes.js';
import { bodyOf, flag, wholeNumber } from './body.js';
import { timeoutOf, type CreateRequest } from './create-request.js';
import { networkOf } from './network.js';
import { refusal } from './refusals.js';
import { sandboxOf } from './resource.js';
import type { Sandbox } from './sandbox.js';
import type { Sandboxes } from './sandboxes.js';
import { atLeast } from './version.js';

const SANDBOX = '/sandboxes/:id';
const UPDATE_FIELDS = ['allowOut', 'denyOut', 'rules', 'egressProxy', 'allow_internet_access'];
const MOST_FORKS = 100;

/** Network, snapshots and forks. */
export function addMachineRoutes(routes: Routes, sandboxes: Sandboxes): void {
  const { settings, snapshots } = sandboxes;

  routes.add('PUT', `${SANDBOX}/network`, async (exchange) => {
    const body = await bodyOf(exchange, settings, UPDATE_FIELDS);
    const network = networkOf(body);
    const allowInternetAccess = flag(body, 'allow_internet_access');
    const sandbox = sandboxes.get(exchange.params['id']!);
    sandbox.lifecycle.mustRun(settings.alternatives.networkInTransition);
    // A full replacement, apart from what an update cannot say.
    const { allowPublicTraffic, maskRequestHost } = sandbox.network ?? {};
    sandbox.network = {
      ...network,
      ...(allowPublicTraffic !== undefined && { allowPublicTraffic }),
      ...(maskRequestHost !== undefined && { maskRequestHost }),
    };
    sandbox.allowInternetAccess = allowInternetAccess;
    await exchange.reply({ status: 204 });
  });

  routes.add('POST', `${SANDBOX}/snapshots`, async (exchange) => {
    const { name } = await bodyOf(exchange, settings, ['name']);
    const sandbox = snapshotted(sandboxes, exchange);
    const { id, names } = await sandbox.lifecycle.snapshot(async () => {
      return await snapshots.take(sandbox, typeof name === 'string' ? name : undefined);
    });
    await exchange.reply({ status: 201, json: { snapshotID: id, names } });
  });

  routes.add('GET', '/snapshots', async (exchange) => {
    const [of, name] = [exchange.query.get('sandboxID'), exchange.query.get('name')];
    const found = snapshots.all.filter(({ sandboxId, names }) => {
      return (of === null || of === sandboxId) && (name === null || names.some((own) => own.endsWith(`/${name}`)));
    });
    await exchange.reply({ status: 200, json: found.map(({ id, names }) => ({ snapshotID: id, names })) });
  });

  routes.add('DELETE', '/templates/*', async (exchange) => {
    await snapshots.delete(decodeURIComponent(exchange.params['*']!));
    await exchange.reply({ status: 204 });
  });

  routes.add('POST', `${SANDBOX}/fork`, async (exchange) => {
    const body = await bodyOf(exchange, settings, ['timeout', 'count']);
    const timeoutSeconds = timeoutOf(wholeNumber(body, 'timeout') ?? 300, settings);
    const count = wholeNumber(body, 'count') ?? 1;
    if (count < 1 || count > MOST_FORKS) throw refusal(400, `count must be between 1 and ${MOST_FORKS}`);
    const sandbox = snapshotted(sandboxes, exchange);
    const { id } = await sandbox.lifecycle.snapshot(async () => await snapshots.take(sandbox, undefined));
    const request: CreateRequest = { ...sandbox.request, templateId: id, timeoutSeconds, metadata: undefined };
    const forks = [];
    for (let made = 0; made < count; made += 1) forks.push({ sandbox: sandboxOf(await sandboxes.create(request)) });
    await snapshots.delete(id);
    await exchange.reply({ status: 201, json: forks });
  });
}

function snapshotted(sandboxes: Sandboxes, exchange: Exchange): Sandbox {
  const sandbox = sandboxes.get(exchange.params['id']!);
  sandbox.lifecycle.mustRun();
  if (atLeast(sandboxes.settings.envdVersion, '0.5.0')) return sandbox;
  throw refusal(400, 'the envd of this sandbox is too old for snapshots');
}
