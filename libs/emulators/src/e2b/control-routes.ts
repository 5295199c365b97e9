import type { Exchange } from '../kit/exchange.js';
import type { Routes } from '../kit/routes.js';
import { bodyOf, flag, wholeNumber, type Body } from './body.js';
import { CREATE_FIELDS, createRequestOf, timeoutOf } from './create-request.js';
import { listRunning, listSandboxes } from './list.js';
import { noSuchSandbox, refusal } from './refusals.js';
import { detailOf, sandboxOf } from './resource.js';
import type { Sandboxes } from './sandboxes.js';

const SANDBOX = '/sandboxes/:id';
const CREATED = 201;

/** Create, connect, get, list, kill, pause and the time to live. */
export function addControlRoutes(routes: Routes, sandboxes: Sandboxes): void {
  const { settings } = sandboxes;
  const { v1Paths, v2Paths, resumeBody } = settings.alternatives;

  const create = (version: 'v1' | 'v2') => async (exchange: Exchange) => {
    const fields = version === 'v1' ? [...CREATE_FIELDS, 'secure'] : CREATE_FIELDS;
    const request = createRequestOf(await bodyOf(exchange, settings, fields), version, settings);
    await exchange.reply({ status: CREATED, json: sandboxOf(await sandboxes.create(request)) });
  };

  const connect = (version: 'v1' | 'v2') => async (exchange: Exchange) => {
    const body = await bodyOf(exchange, settings, ['timeout', 'memory']);
    const seconds = connectTimeout(body, version, settings);
    const sandbox = sandboxes.get(exchange.params['id']!);
    const resumed = await sandbox.lifecycle.connect(seconds, flag(body, 'memory'));
    await exchange.reply({ status: resumed ? CREATED : 200, json: sandboxOf(sandbox) });
  };

  if (v2Paths) {
    routes.add('POST', '/v2/sandboxes', create('v2'));
    routes.add('POST', '/v2/sandboxes/:id/connect', connect('v2'));
  }
  if (v1Paths) {
    routes.add('POST', '/sandboxes', create('v1'));
    routes.add('POST', `${SANDBOX}/connect`, connect('v1'));
  }
  routes.add('GET', '/v2/sandboxes', async (exchange) => await listSandboxes(sandboxes, exchange));
  routes.add('GET', '/sandboxes', async (exchange) => await listRunning(sandboxes, exchange));

  routes.add('GET', SANDBOX, async (exchange) => {
    const sandbox = sandboxes.get(exchange.params['id']!);
    if (sandbox.lifecycle.shown === undefined) throw noSuchSandbox(sandbox.id);
    await exchange.reply({ status: 200, json: detailOf(sandbox) });
  });

  routes.add('DELETE', SANDBOX, async (exchange) => {
    await sandboxes.get(exchange.params['id']!).lifecycle.kill();
    await exchange.reply({ status: 204 });
  });

  routes.add('POST', `${SANDBOX}/pause`, async (exchange) => {
    const body = await bodyOf(exchange, settings, ['memory']);
    await sandboxes.get(exchange.params['id']!).lifecycle.pause(flag(body, 'memory') ?? true);
    await exchange.reply({ status: 204 });
  });

  routes.add('POST', `${SANDBOX}/resume`, async (exchange) => {
    const body = await bodyOf(exchange, settings, ['timeout', 'autoPause']);
    const missing = resumeBody === 'required' && exchange.call.bodyBytes === 0;
    if (missing) throw refusal(400, 'validation error: value is required but missing');
    const sandbox = sandboxes.get(exchange.params['id']!);
    if (sandbox.lifecycle.state === 'running') throw refusal(409, `Sandbox ${sandbox.id} is already running`);
    await sandbox.lifecycle.connect(timeoutOf(wholeNumber(body, 'timeout') ?? 15, settings));
    await exchange.reply({ status: CREATED, json: sandboxOf(sandbox) });
  });

  routes.add('POST', `${SANDBOX}/timeout`, async (exchange) => {
    const body = await bodyOf(exchange, settings, ['timeout']);
    const seconds = wholeNumber(body, 'timeout');
    if (seconds === undefined) throw refusal(400, 'validation error: property "timeout" is missing');
    sandboxes.get(exchange.params['id']!).lifecycle.setTimeout(seconds);
    await exchange.reply({ status: 204 });
  });

  routes.add('POST', `${SANDBOX}/refreshes`, async (exchange) => {
    const seconds = wholeNumber(await bodyOf(exchange, settings, ['duration']), 'duration') ?? 0;
    if (seconds < 0 || seconds > 3600) throw refusal(400, 'validation error: "duration" must be between 0 and 3600');
    sandboxes.get(exchange.params['id']!).lifecycle.refresh(seconds);
    await exchange.reply({ status: 204 });
  });
}

function connectTimeout(body: Body, version: 'v1' | 'v2', settings: Sandboxes['settings']): number {
  const seconds = wholeNumber(body, 'timeout') ?? (version === 'v2' ? 300 : undefined);
  if (seconds === undefined) throw refusal(400, 'validation error: property "timeout" is missing');
  return timeoutOf(seconds, settings);
}
