import type { SandboxHandle } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { sandboxPath, type DaytonaClient } from './daytona.client.js';
import { apiError, failedSandbox, isNotFound, malformedReply, noSandbox } from './daytona.errors.js';
import { sandboxResource, type SandboxResource } from './daytona.resource.js';

/** Starts that the service may refuse before that counts. */
const MAX_REFUSALS = 5;

/** `undefined`: there is none of that id or name. */
export async function findSandbox(
  client: DaytonaClient,
  idOrName: string,
  deadline: Deadline,
): Promise<SandboxResource | undefined> {
  const answer = await client.sendAgain({ method: 'GET', path: sandboxPath(idOrName), deadline });
  if (isNotFound(answer)) return undefined;
  if (!answer.ok) throw apiError(answer);
  const sandbox = sandboxResource(answer.json());
  if (sandbox === undefined) throw malformedReply('the sandbox');
  return sandbox;
}

/** The sandbox of a handle: by the id where it has one. @throws {SandboxError} `not_found` */
export async function getSandbox(
  client: DaytonaClient,
  handle: SandboxHandle,
  deadline: Deadline,
): Promise<SandboxResource> {
  const sandbox = await findSandbox(client, handle.instanceId ?? handle.name, deadline);
  if (sandbox === undefined || !isOf(sandbox, handle)) throw noSandbox(handle.name);
  return sandbox;
}

/** Whether a sandbox is the one of the handle: the name is given free, and changed, while it is deleted. */
export function isOf({ id, name }: SandboxResource, handle: SandboxHandle): boolean {
  return handle.instanceId === undefined ? name === handle.name || id === handle.name : name === handle.name;
}

/**
 * The sandbox of a handle once it stands still, running or parked; with `wake` one that is parked is started first.
 *
 * @throws {SandboxError} `not_found`; `provider`: it is in an error
 */
export async function settledSandbox(
  client: DaytonaClient,
  handle: SandboxHandle,
  deadline: Deadline,
  { wake }: { readonly wake: boolean },
): Promise<SandboxResource> {
  let sandbox = await getSandbox(client, handle, deadline);
  const { id } = sandbox;
  for (let look = 0, refusals = 0; ; look += 1) {
    const { phase, state } = sandbox;
    if (phase === 'running' || (phase === 'parked' && !wake)) return sandbox;
    if (phase === 'failed') throw failedSandbox(handle.name, state);
    if (phase === 'parked') {
      const answer = await client.sendAgain({ method: 'POST', path: sandboxPath(id, 'start'), deadline });
      const isRefused = answer.status === 400 || answer.status === 409;
      // Another change may be under way, which the state does not always show.
      if (isRefused && (refusals += 1) > MAX_REFUSALS) throw apiError(answer);
      if (!answer.ok && !isRefused && !isNotFound(answer)) throw apiError(answer);
    }
    await client.pause(look, deadline, 'none');
    const found = await findSandbox(client, id, deadline);
    if (found === undefined) throw noSandbox(handle.name);
    sandbox = found;
  }
}

/** Resolves once there is no sandbox of that id. */
export async function untilGone(client: DaytonaClient, id: string, deadline: Deadline): Promise<void> {
  for (let look = 0; ; look += 1) {
    const sandbox = await findSandbox(client, id, deadline);
    if (sandbox === undefined || sandbox.state === 'destroyed') return;
    await client.pause(look, deadline, 'unknown');
  }
}
