import type { Exchange } from '../kit/exchange.js';
import { apiFailure } from './api-failure.js';
import { ok, type ApiRoutes } from './api-routes.js';
import type { Fleet } from './fleet.js';

const PORT = '/sandbox/:sandbox/ports/:port';
const LONGEST_SECONDS = 86_400;

/** URLs of ports: they are only told, nothing serves them. */
export function addPreviewRoutes(routes: ApiRoutes, fleet: Fleet): void {
  const { previewDomain } = fleet.settings;

  routes.add('GET', `${PORT}/preview-url`, async ({ params }) => {
    const { id, tokens } = fleet.get(params['sandbox']!);
    const port = portOf(params);
    return ok({ sandboxId: id, url: `https://${port}-${id}.${previewDomain}`, token: tokens.token });
  });

  routes.add('GET', `${PORT}/signed-preview-url`, async ({ params, query }) => {
    const { id, tokens } = fleet.get(params['sandbox']!);
    const port = portOf(params);
    const seconds = Number(query.get('expiresInSeconds') ?? 60);
    if (!Number.isInteger(seconds) || seconds < 1 || seconds > LONGEST_SECONDS) {
      throw apiFailure(400, `expiresInSeconds must be from 1 to ${LONGEST_SECONDS}`);
    }
    const token = tokens.sign(port, seconds);
    return ok({ sandboxId: id, port, token, url: `https://${port}-${token}.${previewDomain}` });
  });

  routes.add('POST', `${PORT}/signed-preview-url/:token/expire`, async ({ params }) => {
    const { tokens } = fleet.get(params['sandbox']!);
    if (!tokens.expire(portOf(params), params['token']!)) throw apiFailure(404, 'Token not found');
    return { status: 200 };
  });

  routes.add('GET', '/preview/:sandbox/public', async ({ params }) => ok(fleet.get(params['sandbox']!).public));

  routes.add('GET', '/preview/:sandbox/validate/:token', async ({ params }) => {
    return ok(fleet.get(params['sandbox']!).tokens.token === params['token']);
  });

  routes.add('GET', '/preview/:token/:port/sandbox-id', async ({ params }) => {
    const port = portOf(params);
    const sandbox = fleet.all.find(({ tokens }) => tokens.port(params['token']!) === port);
    if (!sandbox) throw apiFailure(404, 'Token not found');
    return { status: 200, text: sandbox.id };
  });
}

/** @throws {ApiFailure} 400 */
function portOf(params: Exchange['params']): number {
  const port = Number(params['port']);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw apiFailure(400, 'Invalid port');
  return port;
}
