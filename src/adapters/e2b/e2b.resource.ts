import type { SandboxInfo } from '#libs/contract';
import { asObject } from '../common/json.js';
import { claimOf, nameOf, type Claim } from './e2b.claim.js';

/** What is read of a sandbox; the rest of the answer stays as it came. */
export interface SandboxResource {
  readonly id: string;
  /** Of its envd. Lists do not tell it, and a sandbox that is not secured has none. */
  readonly token?: string;
  readonly domain?: string;
  readonly envdVersion?: string;
  readonly state: SandboxInfo['status'];
  /** For how long it was to live on when the service said so, by the clock of the service, in milliseconds. */
  readonly leftMs?: number;
  readonly name?: string;
  readonly claim?: Claim;
  /** Whether what listens inside can be opened by everyone. */
  readonly isPublic: boolean;
  /** Without its tokens. */
  readonly raw: unknown;
}

const STATES: ReadonlyMap<unknown, SandboxInfo['status']> = new Map([
  ['running', 'running'],
  ['paused', 'suspended'],
]);

const ID = /^[a-z0-9]{1,64}$/;
const HOST = /^[A-Za-z0-9.-]+(?::\d{1,5})?$/;
const TOKEN = /^[\x21-\x7e]+$/;

/** Whether a sandbox can have it. */
export function isSandboxId(id: string): boolean {
  return ID.test(id);
}

/**
 * `undefined`: not a sandbox.
 *
 * @param date when it was said: the header of that name. The clock here may be another. @default now
 */
export function sandboxResource(value: unknown, date?: string | null): SandboxResource | undefined {
  const { envdAccessToken: token, trafficAccessToken: trafficToken, ...raw } = asObject(value) ?? {};
  const { state, endAt, domain, envdVersion, metadata, network } = raw;
  const id = raw['sandboxID'] ?? raw['sandboxId'];
  if (typeof id !== 'string' || !isSandboxId(id)) return undefined;
  // The token goes to that host, in a header.
  if ((isText(domain) && !HOST.test(domain)) || (isText(token) && !TOKEN.test(token))) return undefined;
  const pairs = asObject(metadata) ?? {};
  const leftMs = typeof endAt === 'string' ? Date.parse(endAt) - (Date.parse(date ?? '') || Date.now()) : Number.NaN;
  const name = nameOf(pairs);
  const claim = claimOf(pairs);
  return {
    id,
    ...(isText(token) && { token }),
    ...(isText(domain) && { domain }),
    ...(isText(envdVersion) && { envdVersion }),
    state: STATES.get(state) ?? 'unknown',
    ...(Number.isFinite(leftMs) && { leftMs }),
    ...(name !== undefined && { name }),
    ...(claim !== undefined && { claim }),
    isPublic: (trafficToken ?? undefined) === undefined && asObject(network)?.['allowPublicTraffic'] !== false,
    raw,
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
