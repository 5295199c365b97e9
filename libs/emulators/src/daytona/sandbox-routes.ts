import type { Answer } from '../kit/answer.js';
import type { Exchange } from '../kit/exchange.js';
import { apiFailure } from './api-failure.js';
import { bodyOf, ok, type ApiRoutes } from './api-routes.js';
import { mapOf } from './create-request.js';
import { createSandbox } from './create-sandbox.js';
import type { Fleet } from './fleet.js';
import type { IntervalSettings } from './intervals.js';
import { listSandboxes } from './list.js';
import { networkOf } from './network.js';
import type { Operations } from './operations.js';
import type { Sandbox } from './sandbox.js';

const SANDBOX = '/sandbox/:sandbox';

/** Parts of a path that set an interval. */
const INTERVALS: Readonly<Record<string, keyof IntervalSettings>> = {
  autostop: 'autoStop',
  autoarchive: 'autoArchive',
  autodelete: 'autoDelete',
  ttl: 'ttl',
};

export function addSandboxRoutes(routes: ApiRoutes, fleet: Fleet, operations: Operations): void {
  const { upkeep } = operations;
  const of = ({ params }: Exchange) => fleet.get(params['sandbox']!);
  /** A route on one sandbox that answers with it, once it did something. */
  const add = (
    method: string,
    path: string,
    act: (sandbox: Sandbox, exchange: Exchange) => void | Promise<void>,
    throttler?: 'sandbox-lifecycle',
  ) => {
    const handler = async (exchange: Exchange): Promise<Answer> => {
      const sandbox = of(exchange);
      if (method !== 'GET') sandbox.touch();
      await act(sandbox, exchange);
      return ok(fleet.show(sandbox));
    };
    routes.add(method, `${SANDBOX}${path}`, handler, throttler);
  };

  routes.add('GET', '/sandbox', async ({ query }) => listSandboxes(fleet, query));
  routes.add(
    'POST',
    '/sandbox',
    async (exchange) => ok(await createSandbox(fleet, upkeep, await bodyOf(exchange))),
    'sandbox-create',
  );

  add('GET', '', () => {});
  add('DELETE', '', (sandbox) => operations.delete(sandbox), 'sandbox-lifecycle');
  add('POST', '/start', async (sandbox) => await operations.start(sandbox), 'sandbox-lifecycle');
  const stop = (sandbox: Sandbox, { query }: Exchange) => operations.stop(sandbox, query.get('force') === 'true');
  add('POST', '/stop', stop, 'sandbox-lifecycle');
  add('POST', '/archive', (sandbox) => operations.archive(sandbox), 'sandbox-lifecycle');
  add('POST', '/recover', async (sandbox) => await operations.recover(sandbox), 'sandbox-lifecycle');
  for (const path of ['/pause', '/fork']) {
    add('POST', path, () => {
      throw apiFailure(422, 'Not supported for the sandbox class container');
    });
  }
  add('POST', '/resize', async (sandbox, exchange) => {
    operations.resize(sandbox, await bodyOf(exchange), exchange.call.path);
  });
  add('POST', '/snapshot', async (sandbox, exchange) => operations.snapshot(sandbox, await bodyOf(exchange)));
  add('POST', '/network-settings', async (sandbox, exchange) => {
    operations.setNetwork(sandbox, networkOf(await bodyOf(exchange)));
  });
  add('POST', '/public/:value', (sandbox, { params }) => {
    sandbox.public = params['value'] === 'true';
    sandbox.changed();
  });
  for (const [path, name] of Object.entries(INTERVALS)) {
    add('POST', `/${path}/:minutes`, (sandbox, { params }) => {
      const minutes = Number(params['minutes']);
      const least = name === 'autoDelete' ? -1 : 0;
      if (!Number.isInteger(minutes) || minutes < least)
        throw apiFailure(400, `${name} must be a valid number of minutes`);
      sandbox.intervals.set({ [name]: minutes });
      upkeep.arm(sandbox);
      sandbox.changed();
    });
  }
  routes.add('PUT', `${SANDBOX}/labels`, async (exchange) => {
    const sandbox = of(exchange);
    sandbox.labels = mapOf(await bodyOf(exchange), 'labels');
    sandbox.changed();
    return ok({ labels: sandbox.labels });
  });
  routes.add('POST', `${SANDBOX}/last-activity`, async (exchange) => {
    const sandbox = of(exchange);
    sandbox.touch();
    upkeep.arm(sandbox);
    return { status: 201 };
  });
  routes.add('GET', `${SANDBOX}/toolbox-proxy-url`, async ({ params }) => {
    const id = params['sandbox']!;
    if (!fleet.byId(id)) throw apiFailure(404, `Sandbox with ID ${id} not found`);
    return ok({ url: fleet.toolboxUrl });
  });
}
