import { newNonce } from '../common/session-id.js';
import type { JsonObject } from '../common/json.js';

// A sandbox of the service has no name of the caller's choice: it is kept in the metadata, which are set when it is
// made and never change. Nothing makes them unique.

const NAME = 'nestjs_sandbox_name';
const MARKER = 'nestjs_sandbox';
const CREATED = 'nestjs_sandbox_created';
const NONCE = 'nestjs_sandbox_nonce';

/** Who made a sandbox, and when: settles which of several with one name stays. */
export interface Claim {
  readonly createdMs: number;
  readonly nonce: string;
}

/** @param lost of which nobody knows whether it made anything: the new one comes before it, should it yet turn up */
export function newClaim(lost?: Claim): Claim {
  return { createdMs: lost === undefined ? Date.now() : lost.createdMs - 1, nonce: newNonce() };
}

/** Earlier ones first, the same on every machine. */
export function compareClaims(a: Claim, b: Claim): number {
  return a.createdMs - b.createdMs || (a.nonce < b.nonce ? -1 : a.nonce > b.nonce ? 1 : 0);
}

export function metadataOf(name: string, { createdMs, nonce }: Claim): Record<string, string> {
  return { [MARKER]: '1', [NAME]: name, [CREATED]: String(createdMs), [NONCE]: nonce };
}

export function nameOf(metadata: JsonObject): string | undefined {
  const name = metadata[NAME];
  return typeof name === 'string' && name !== '' ? name : undefined;
}

/** `undefined`: something else made it. */
export function claimOf(metadata: JsonObject): Claim | undefined {
  const { [CREATED]: created, [NONCE]: nonce } = metadata;
  if (typeof created !== 'string' || !/^\d{1,15}$/.test(created) || typeof nonce !== 'string') return undefined;
  return { createdMs: Number(created), nonce };
}

/** What a list is asked for. The service unescapes the whole, and then each key and value once more. */
export function metadataFilter(filter: { readonly name?: string; readonly nonce?: string }): string {
  const pairs: [string, string][] = [[MARKER, '1']];
  if (filter.name !== undefined) pairs.push([NAME, filter.name]);
  if (filter.nonce !== undefined) pairs.push([NONCE, filter.nonce]);
  return pairs.map((pair) => pair.map(twice).join('=')).join('&');
}

function twice(text: string): string {
  return encodeURIComponent(encodeURIComponent(text));
}
