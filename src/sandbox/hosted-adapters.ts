import { DaytonaAdapter } from '../adapters/daytona/index.js';
import { E2bAdapter } from '../adapters/e2b/index.js';
import { SpritesAdapter } from '../adapters/sprites/index.js';
import type { AdapterDefinition } from './sandbox.options.js';

/**
 * What `SandboxModule` serves unless it is told otherwise. An adapter without its credential is there and answers
 * `denied`.
 */
export const HOSTED_ADAPTERS: Readonly<Record<'sprites' | 'e2b' | 'daytona', AdapterDefinition>> = Object.freeze({
  sprites: SpritesAdapter,
  e2b: E2bAdapter,
  daytona: DaytonaAdapter,
});
