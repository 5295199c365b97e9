import { SandboxError, invalidArgument, type NetworkPolicy, type SandboxHandle } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { afterEarlier, mayHaveActed, unconfirmed } from '../common/failed-answer.js';
import type { HttpAnswer } from '../common/http-client.js';
import { asObject } from '../common/json.js';
import { sandboxPath, type DaytonaClient } from './daytona.client.js';
import { isNotFound, isRestricted, partError } from './daytona.errors.js';
import { getSandbox, missing, settledSandbox } from './daytona.find.js';

const MAX_NAMES = 10;
const NAME = /^(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/;

export interface NetworkSettings {
  readonly networkBlockAll: boolean;
  readonly domainAllowList: string;
}

/** @throws {SandboxError} `invalid`: what the service does not take */
export function settingsFor({ allow }: NetworkPolicy): NetworkSettings {
  const domains = [...new Set(allow.map((host) => host.toLowerCase()))];
  if (domains.includes('*')) return { networkBlockAll: false, domainAllowList: '' };
  for (const domain of domains) {
    if (!NAME.test(domain))
      throw invalidArgument('policy.allow: expected domain names, with *. before them or without');
  }
  if (domains.length > MAX_NAMES) throw invalidArgument(`policy.allow: Daytona takes at most ${MAX_NAMES} names`);
  return { networkBlockAll: true, domainAllowList: domains.join(',') };
}

/** Sets a policy, which binds new connections, and reads it back. */
export async function applyPolicy(
  client: DaytonaClient,
  handle: SandboxHandle,
  settings: NetworkSettings,
  deadline: Deadline,
): Promise<void> {
  const { id, phase } = await getSandbox(client, handle, deadline);
  const incarnation = { ...handle, instanceId: id };
  let refusal = await refused(client, incarnation, settings, deadline);
  // Some take it only while the sandbox runs.
  if (refusal && phase !== 'running') {
    await settledSandbox(client, incarnation, deadline, { wake: true });
    refusal = await refused(client, incarnation, settings, deadline);
  }
  if (refusal === undefined) return;
  const message = 'the Daytona API refused the network settings';
  throw afterEarlier(new SandboxError('invalid', { effect: 'none', message }), refusal);
}

/** @returns `undefined`: they are in force; otherwise what refused the settings */
async function refused(
  client: DaytonaClient,
  handle: SandboxHandle & { readonly instanceId: string },
  settings: NetworkSettings,
  deadline: Deadline,
): Promise<HttpAnswer | undefined> {
  // Ending the block empties the list of addresses as well, which nobody sets here.
  const body = settings.networkBlockAll ? settings : { ...settings, networkAllowList: '' };
  const path = sandboxPath(handle.instanceId, 'network-settings');
  const answer = await client.sendAgain({ method: 'POST', path, json: body, deadline });
  if (isRestricted(answer)) throw afterEarlier(denied(), answer);
  if (answer.status === 400) return answer;
  if (isNotFound(answer)) throw afterEarlier(await missing(client, handle, answer, deadline), answer);
  if (!answer.ok) throw partError(answer);
  const { raw } = await getSandbox(client, handle, deadline).catch(mayHaveActed);
  const { networkBlockAll, domainAllowList } = asObject(raw) ?? {};
  const isInForce =
    (networkBlockAll ?? false) === settings.networkBlockAll && (domainAllowList ?? '') === settings.domainAllowList;
  if (!isInForce) throw unconfirmed('the network policy');
  return undefined;
}

function denied(): SandboxError {
  return new SandboxError('denied', {
    effect: 'none',
    message: 'this organization may not change the network access of its sandboxes',
  });
}
