import { isIP } from 'node:net';
import { refusal } from './refusals.js';

/** Where a sandbox may connect to. It is kept, not enforced. */
export interface NetworkPolicy {
  readonly allowOut?: readonly string[];
  readonly denyOut?: readonly string[];
  readonly rules?: unknown;
  readonly allowPublicTraffic?: boolean;
  readonly maskRequestHost?: string;
}

const DENY_ALL = '0.0.0.0/0';
const DOMAIN = /^(?:\*|(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+)$/i;
const MOST_RULES = 10;
const MAX_DOMAIN = 128;

/** @throws {Refusal} 400 */
export function networkOf(value: unknown): NetworkPolicy {
  const body = Object(value) as Record<string, unknown>;
  const [allowOut, denyOut] = [listOf(body, 'allowOut'), listOf(body, 'denyOut')];
  for (const entry of denyOut ?? []) if (!isCidr(entry)) throw refusal(400, `invalid denied CIDR ${entry}`);
  for (const entry of allowOut ?? []) {
    if (isCidr(entry)) continue;
    if (entry.length > MAX_DOMAIN || !DOMAIN.test(entry)) throw refusal(400, `invalid allowed entry ${entry}`);
    if (denyOut?.includes(DENY_ALL)) continue;
    throw refusal(400, `allowing domains needs ${DENY_ALL} in denyOut`);
  }
  const { rules, allowPublicTraffic, maskRequestHost } = body;
  if (rules !== undefined && Object.keys(Object(rules) as object).length > MOST_RULES) {
    throw refusal(400, `at most ${MOST_RULES} rules are allowed`);
  }
  if (body['egressProxy'] !== undefined) throw refusal(403, 'the egress proxy is not enabled for this team');
  return {
    ...(allowOut && { allowOut }),
    ...(denyOut && { denyOut }),
    ...(rules !== undefined && { rules }),
    ...(typeof allowPublicTraffic === 'boolean' && { allowPublicTraffic }),
    ...(typeof maskRequestHost === 'string' && { maskRequestHost }),
  };
}

function listOf(body: Readonly<Record<string, unknown>>, name: string): string[] | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
  throw refusal(400, `validation error: ${name} must be an array of strings`);
}

function isCidr(text: string): boolean {
  const [address = '', bits, more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more !== undefined) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}
