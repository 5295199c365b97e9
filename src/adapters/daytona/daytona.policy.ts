import { SandboxError, invalidArgument, type NetworkPolicy, type SandboxHandle } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { unconfirmed } from '../common/failed-answer.js';
import { asObject } from '../common/json.js';
import { sandboxPath, type DaytonaClient } from './daytona.client.js';
import { apiError, isNotFound, isRestricted, noSandbox } from './daytona.errors.js';
import { findSandbox, getSandbox, settledSandbox } from './daytona.find.js';

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
  if (await accepted(client, id, settings, deadline)) return;
  // Some take it only while the sandbox runs.
  if (phase !== 'running') {
    await settledSandbox(client, handle, deadline, { wake: true });
    if (await accepted(client, id, settings, deadline)) return;
  }
  throw new SandboxError('invalid', { effect: 'none', message: 'the Daytona API refused the network settings' });
}

/** @returns whether it is in force; otherwise the settings were refused */
async function accepted(
  client: DaytonaClient,
  id: string,
  settings: NetworkSettings,
  deadline: Deadline,
): Promise<boolean> {
  // Ending the block empties the list of addresses as well, which nobody sets here.
  const body = settings.networkBlockAll ? settings : { ...settings, networkAllowList: '' };
  const path = sandboxPath(id, 'network-settings');
  const answer = await client.sendAgain({ method: 'POST', path, json: body, deadline });
  if (isRestricted(answer)) throw denied();
  if (answer.status === 400) return false;
  if (isNotFound(answer)) throw noSandbox(id);
  if (!answer.ok) throw apiError(answer);
  const { raw } = (await findSandbox(client, id, deadline)) ?? {};
  if (raw === undefined) throw noSandbox(id);
  const { networkBlockAll, domainAllowList } = asObject(raw) ?? {};
  const isInForce =
    (networkBlockAll ?? false) === settings.networkBlockAll && (domainAllowList ?? '') === settings.domainAllowList;
  if (!isInForce) throw unconfirmed('the network policy');
  return true;
}

function denied(): SandboxError {
  return new SandboxError('denied', {
    effect: 'none',
    message: 'this organization may not change the network access of its sandboxes',
  });
}
