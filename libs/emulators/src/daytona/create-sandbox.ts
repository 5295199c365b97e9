import { apiFailure } from './api-failure.js';
import { createRequestOf, type CreateRequest } from './create-request.js';
import type { SandboxDto } from './dto.js';
import type { Fleet } from './fleet.js';
import type { SandboxState } from './lifecycle.js';
import { assertNetworkAllowed, NO_NETWORK_RULES, updateNetwork } from './network.js';
import type { Upkeep } from './upkeep.js';

type Step = readonly [state: SandboxState, ms: number];

/** @returns what is answered, which may be older than the sandbox @throws {ApiFailure} 400, 404, 409 */
export async function createSandbox(
  fleet: Fleet,
  upkeep: Upkeep,
  body: Readonly<Record<string, unknown>>,
): Promise<SandboxDto> {
  const { settings, snapshots, closing } = fleet;
  const { createAnswer } = settings.alternatives;
  const asked = createRequestOf(body);
  if (Object.keys(asked.network).length > 0) assertNetworkAllowed(settings);
  const snapshot = asked.snapshot ? snapshots.usable(asked.snapshot) : undefined;
  const network = updateNetwork(NO_NETWORK_RULES, asked.network);
  const sandbox = fleet.add({ ...asked, network, ...(snapshot && { size: snapshot.size }) });
  const { lifecycle } = sandbox;
  const failure = fleet.takePlanned('create');
  const warm = createAnswer === 'started' && !failure && !asked.buildInfo;
  const act = async () => {
    if (snapshot) await snapshots.copyInto(snapshot, sandbox.files);
    sandbox.boot();
  };
  lifecycle.begin({ through: warm ? [] : stepsOf(asked, fleet), to: 'started', desired: 'started', act }, failure);
  upkeep.watch(sandbox);
  const created = fleet.show(sandbox);
  // Only a sandbox from a snapshot is waited for.
  if (createAnswer === 'creating_at_once' || asked.buildInfo) return created;
  await lifecycle.settled(warm ? Infinity : settings.serverWaitMs, closing);
  if (lifecycle.failure) throw apiFailure(400, `Sandbox failed to start: ${lifecycle.failure.reason}`);
  return warm ? fleet.show(sandbox) : created;
}

function stepsOf({ buildInfo }: CreateRequest, { settings }: Fleet): readonly Step[] {
  const { build, create, start } = settings.delaysMs;
  const steps: readonly Step[] = [
    ['creating', create],
    ['starting', start],
  ];
  return buildInfo ? [['pending_build', build], ['building_snapshot', build], ...steps] : steps;
}
