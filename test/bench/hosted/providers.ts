import { daytona } from './daytona.js';
import { e2b } from './e2b.js';
import type { HostedProvider } from './provider.js';
import { sprites } from './sprites.js';

export const PROVIDERS: readonly HostedProvider[] = [sprites, e2b, daytona];

/** @throws {Error} there is none of that name */
export function hostedProvider(name: string): HostedProvider {
  const provider = PROVIDERS.find((known) => known.name === name);
  if (!provider) throw new Error(`no provider is called ${name}`);
  return provider;
}
