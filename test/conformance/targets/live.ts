import { randomUUID } from 'node:crypto';
import { shellWords, type ConformanceSubject } from '#libs/conformance';
import { DaytonaAdapter } from '../../../src/adapters/daytona/index.js';
import { E2bAdapter } from '../../../src/adapters/e2b/index.js';
import { SpritesAdapter } from '../../../src/adapters/sprites/index.js';
import type { SandboxAdapter } from '#libs/contract';

/** A real service, used only where its credential is in the environment. */
export interface LiveService {
  /** The variable that holds the credential. */
  readonly variable: string;
  readonly adapter: () => SandboxAdapter;
}

/** By the name of the provider. The rest of their settings come from the environment as well. */
export const LIVE_SERVICES: Readonly<Record<string, LiveService>> = {
  sprites: { variable: 'SPRITES_TOKEN', adapter: () => new SpritesAdapter() },
  e2b: { variable: 'E2B_API_KEY', adapter: () => new E2bAdapter() },
  daytona: { variable: 'DAYTONA_API_KEY', adapter: () => new DaytonaAdapter() },
};

/** The suite's subject over a real service: slower, and with less to transfer, since it is billed. */
export function liveSubject(provider: string, { adapter }: LiveService): ConformanceSubject {
  return {
    name: `${provider}_live`,
    adapter: adapter(),
    words: shellWords,
    newName: () => `conformance-${randomUUID().slice(0, 8)}`,
    tells: { signals: false, stderrApart: false },
    slowness: 10,
    volume: 0.05,
  };
}
