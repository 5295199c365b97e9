import { apiFailure } from './api-failure.js';
import type { DaytonaSettings } from './options.js';

/** What a sandbox may reach. It is kept and told, though not enforced. */
export interface Network {
  readonly networkBlockAll: boolean;
  /** CIDRs, separated by commas. */
  readonly networkAllowList: string;
  /** Domains, separated by commas. */
  readonly domainAllowList: string;
}

export const NO_NETWORK_RULES: Network = { networkBlockAll: false, networkAllowList: '', domainAllowList: '' };

const MOST_ENTRIES = 10;
const CIDR = /^(?:\d{1,3}\.){3}\d{1,3}\/(?:\d|[12]\d|3[0-2])$/;
const DOMAIN = /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i;

/** What a body says about the network. @throws {ApiFailure} 400 */
export function networkOf(body: Readonly<Record<string, unknown>>): Partial<Network> {
  const { networkBlockAll: block } = body;
  if (block !== undefined && typeof block !== 'boolean') {
    throw apiFailure(400, 'networkBlockAll must be a boolean value');
  }
  const networkAllowList = listOf(body, 'networkAllowList', CIDR);
  const domainAllowList = listOf(body, 'domainAllowList', DOMAIN);
  if (networkAllowList && domainAllowList) {
    throw apiFailure(400, 'networkAllowList and domainAllowList cannot be used together');
  }
  return {
    ...(block !== undefined && { networkBlockAll: block }),
    ...(networkAllowList !== undefined && { networkAllowList }),
    ...(domainAllowList !== undefined && { domainAllowList }),
  };
}

/** @throws {ApiFailure} 400 or 403 where the organization may not */
export function assertNetworkAllowed({ alternatives }: Pick<DaytonaSettings, 'alternatives'>): void {
  if (alternatives.networkSettings === 'allowed') return;
  const message = 'Network access is restricted for this organization. Remove the network fields.';
  throw apiFailure(alternatives.networkSettings === 'refused_400' ? 400 : 403, message);
}

/** Blocking all, or ending it, clears the CIDRs; giving some ends the blocking. */
export function updateNetwork(before: Network, update: Partial<Network>): Network {
  const after = { ...before, ...update };
  if (update.networkBlockAll !== undefined) after.networkAllowList = '';
  if (update.networkAllowList && update.networkBlockAll !== true) {
    return { ...after, networkAllowList: update.networkAllowList, networkBlockAll: false };
  }
  return after;
}

function listOf(body: Readonly<Record<string, unknown>>, name: string, pattern: RegExp): string | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw apiFailure(400, `${name} must be a string`);
  const entries = value === '' ? [] : value.split(',').map((entry) => entry.trim());
  if (entries.length > MOST_ENTRIES) throw apiFailure(400, `${name} must have at most ${MOST_ENTRIES} entries`);
  const bad = entries.find((entry) => !pattern.test(entry));
  if (bad !== undefined) throw apiFailure(400, `${name} has an invalid entry: ${bad}`);
  return entries.join(',');
}
