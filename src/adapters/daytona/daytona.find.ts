import { SandboxError, invalidArgument, type SandboxHandle } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import type { HttpAnswer } from '../common/http-client.js';
import { sandboxPath, type DaytonaClient } from './daytona.client.js';
import { apiError, failedSandbox, isNotFound, malformedReply, noSandbox, partError } from './daytona.errors.js';
import { isSandboxId, sandboxResource, type SandboxResource } from './daytona.resource.js';

/** Starts that the service may refuse before that counts. */
const MAX_REFUSALS = 5;

/** `undefined`: there is none of that id or name. @throws {SandboxError} with effect `none`: it only looks */
export async function findSandbox(
  client: DaytonaClient,
  idOrName: string,
  deadline: Deadline,
): Promise<SandboxResource | undefined> {
  return askFor(client, idOrName, deadline).catch((error: unknown) => {
    throw error instanceof SandboxError ? error.with({ effect: 'none' }) : error;
  });
}

async function askFor(
  client: DaytonaClient,
  idOrName: string,
  deadline: Deadline,
): Promise<SandboxResource | undefined> {
  const answer = await client.sendAgain({ method: 'GET', path: sandboxPath(idOrName), deadline });
  if (isNotFound(answer)) return undefined;
  if (!answer.ok) throw apiError(answer);
  const sandbox = sandboxResource(answer.json());
  if (sandbox?.state === 'destroyed') return undefined;
  // One that is being deleted has another name by then.
  const isAsked = sandbox?.id === idOrName || sandbox?.name === idOrName || sandbox?.phase === 'going';
  if (sandbox === undefined || !isAsked) throw malformedReply('the sandbox');
  return sandbox;
}

/** What a sandbox is asked for by. @throws {SandboxError} `invalid`: none can have that id */
export function addressOf({ name, instanceId }: SandboxHandle): string {
  if (instanceId === undefined || isSandboxId(instanceId)) return instanceId ?? name;
  throw invalidArgument('handle.instanceId: expected letters, digits and -');
}

/** The sandbox of a handle: by the id where it has one. @throws {SandboxError} `not_found` */
export async function getSandbox(
  client: DaytonaClient,
  handle: SandboxHandle,
  deadline: Deadline,
): Promise<SandboxResource> {
  const sandbox = await findSandbox(client, addressOf(handle), deadline);
  if (sandbox === undefined || !isOf(sandbox, handle)) throw noSandbox(handle.name);
  return sandbox;
}

/**
 * Whether a sandbox is the one of the handle: the name is given free, and changed, while it is deleted; and an id may be
 * the name of another.
 */
export function isOf({ id, name }: SandboxResource, handle: SandboxHandle): boolean {
  if (handle.instanceId !== undefined) return id === handle.instanceId && name === handle.name;
  return name === handle.name || id === handle.name;
}

/** What a 404 on something of a sandbox means: the sandbox itself is gone only where a look at it says so. */
export async function missing(
  client: DaytonaClient,
  handle: SandboxHandle,
  answer: HttpAnswer,
  deadline: Deadline,
): Promise<SandboxError> {
  await getSandbox(client, handle, deadline);
  return partError(answer);
}

/** Which sandboxes are started before they are used: all; none; those only whose processes stand still. */
export type Wake = boolean | 'frozen';

/**
 * The sandbox of a handle once it runs, or is parked and not to be started. What stands still otherwise is waited for.
 *
 * @param asked called before it is started
 * @throws {SandboxError} `not_found`; `provider`: it is in an error
 */
export async function settledSandbox(
  client: DaytonaClient,
  handle: SandboxHandle,
  deadline: Deadline,
  { wake, asked = () => {} }: { readonly wake: Wake; readonly asked?: () => void },
): Promise<SandboxResource> {
  let sandbox = await getSandbox(client, handle, deadline);
  const { id } = sandbox;
  for (let look = 0, refusals = 0; ; look += 1) {
    const { phase, state } = sandbox;
    if (phase === 'running' || (phase === 'parked' && wake !== true)) return sandbox;
    if (phase === 'failed') throw failedSandbox(handle.name, state);
    if (phase === 'parked' || (phase === 'frozen' && wake !== false)) {
      asked();
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
