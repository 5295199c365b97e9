import { freemem, totalmem } from 'node:os';
import type { Exchange } from '../kit/exchange.js';
import { checkToken } from './envd-auth.js';
import { downloadFile, uploadFiles } from './file-routes.js';
import type { EnvdHandler, EnvdRoute } from './envd-route.js';
import { FILESYSTEM_ROUTES } from './filesystem-routes.js';
import { PROCESS_ROUTES } from './process-routes.js';
import { refusal } from './refusals.js';
import type { Sandbox } from './sandbox.js';

/** Calls that need no token, or look at it themselves. */
const OPEN: readonly EnvdRoute[] = [
  ['GET', '/health', async (exchange) => await exchange.reply({ status: 204 })],
  ['GET', '/files', downloadFile],
  ['POST', '/files', uploadFiles],
];

const GUARDED: readonly EnvdRoute[] = [
  ['GET', '/envs', async (exchange, { envVars }) => await exchange.reply({ status: 200, json: envVars })],
  ['GET', '/metrics', async (exchange) => await exchange.reply({ status: 200, json: metrics() })],
  ...PROCESS_ROUTES,
  ...FILESYSTEM_ROUTES,
];

/** The daemon inside a sandbox. */
export async function serveEnvd(exchange: Exchange, sandbox: Sandbox): Promise<void> {
  const open = handlerOf(OPEN, exchange);
  if (!open) checkToken(sandbox, exchange);
  const handler = open ?? handlerOf(GUARDED, exchange);
  if (!handler) throw refusal(404, '404 page not found');
  await handler(exchange, sandbox);
}

function handlerOf(routes: readonly EnvdRoute[], { call }: Exchange): EnvdHandler | undefined {
  return routes.find(([method, path]) => method === call.method && path === call.path)?.[2];
}

function metrics(): Record<string, number> {
  const MIB = 1024 * 1024;
  const used = totalmem() - freemem();
  return {
    ts: Math.floor(Date.now() / 1000),
    cpu_count: 2,
    cpu_used_pct: 0,
    mem_total: totalmem(),
    mem_used: used,
    mem_cache: 0,
    mem_total_mib: Math.floor(totalmem() / MIB),
    mem_used_mib: Math.floor(used / MIB),
    disk_used: 0,
    disk_total: 1024 * MIB,
  };
}
