import { apiFailure } from './api-failure.js';
import { bodyOf, ok, type ApiRoutes } from './api-routes.js';
import { sizeOf } from './create-request.js';
import type { Fleet } from './fleet.js';
import type { Snapshot } from './snapshots.js';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function addSnapshotRoutes(routes: ApiRoutes, fleet: Fleet): void {
  const { snapshots, settings } = fleet;
  const show = (snapshot: Snapshot) => snapshotDto(snapshot, settings.organizationId);

  routes.add('GET', '/snapshots', async ({ query }) => {
    const [page, limit] = [Number(query.get('page') ?? 1), Number(query.get('limit') ?? 100)];
    if (!Number.isInteger(page) || page < 1) throw apiFailure(400, 'page must not be less than 1');
    if (!Number.isInteger(limit) || limit < 1 || limit > 200) throw apiFailure(400, 'limit must be from 1 to 200');
    const part = query.get('name')?.toLowerCase() ?? '';
    const source = query.get('sourceSandboxId');
    const found = snapshots.all.filter(
      ({ name, sourceSandboxId }) => name.toLowerCase().includes(part) && (!source || source === sourceSandboxId),
    );
    const items = found.slice((page - 1) * limit, page * limit).map(show);
    return ok({ items, total: found.length, page, totalPages: Math.ceil(found.length / limit) });
  });

  routes.add('POST', '/snapshots', async (exchange) => {
    const body = await bodyOf(exchange);
    const size = sizeOf(body, { cpu: 1, memory: 1, disk: 3 });
    const { imageName } = body;
    if (typeof imageName !== 'string' && body['buildInfo'] === undefined) {
      throw apiFailure(400, 'imageName must be a string');
    }
    return ok(show(snapshots.create(body['name'], typeof imageName === 'string' ? imageName : '', size)));
  });

  routes.add('GET', '/snapshots/:snapshot', async ({ params }) => ok(show(snapshots.get(params['snapshot']!))));

  routes.add('DELETE', '/snapshots/:id', async ({ params }) => {
    if (!UUID.test(params['id']!)) throw apiFailure(400, 'Validation failed (uuid is expected)');
    snapshots.delete(params['id']!);
    return { status: 200 };
  });

  routes.add('POST', '/snapshots/:id/activate', async ({ params }) => {
    const snapshot = snapshots.get(params['id']!);
    if (snapshot.state !== 'inactive') throw apiFailure(400, `Snapshot is ${snapshot.state}`);
    snapshot.state = 'active';
    return ok(show(snapshot));
  });

  routes.add('POST', '/snapshots/:id/deactivate', async ({ params }) => {
    const snapshot = snapshots.get(params['id']!);
    if (snapshot.state !== 'active') throw apiFailure(400, `Snapshot is ${snapshot.state}`);
    snapshot.state = 'inactive';
    return { status: 204 };
  });
}

function snapshotDto(snapshot: Snapshot, organizationId: string): Record<string, unknown> {
  const { cpu, memory, disk } = snapshot.size;
  const createdAt = snapshot.createdAt.toISOString();
  return {
    id: snapshot.id,
    ...(!snapshot.general && { organizationId }),
    general: snapshot.general,
    name: snapshot.name,
    imageName: snapshot.imageName,
    state: snapshot.state,
    size: snapshot.state === 'active' ? 0.1 : null,
    entrypoint: null,
    cpu,
    gpu: 0,
    mem: memory,
    disk,
    errorReason: snapshot.errorReason ?? null,
    createdAt,
    updatedAt: createdAt,
    lastUsedAt: snapshot.lastUsedAt?.toISOString() ?? null,
    regionIds: ['us'],
    ...(snapshot.sourceSandboxId && { sourceSandboxId: snapshot.sourceSandboxId }),
    sandboxClass: 'container',
  };
}
