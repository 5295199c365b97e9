import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SpritesEmulator } from '#libs/emulators';
import type { Subject } from './check.js';
import { emulated } from './emulated.js';
import { commandChecks } from './sprites-commands.js';
import { fileChecks } from './sprites-files.js';
import { managementChecks } from './sprites-management.js';
import { stateChecks } from './sprites-state.js';
import type { SpritesSdk } from './sprites-sdk.js';

export async function subject(modules: string): Promise<Subject> {
  const entry = pathToFileURL(join(modules, '@fly/sprites/dist/index.js')).href;
  const { SpritesClient } = (await import(entry)) as SpritesSdk;
  // Pages of two and the linger that the service has, so that the SDK proves that it does without.
  const emulator = await SpritesEmulator.start({ pageSize: 2, lingerMs: 5_000 });
  const client = new SpritesClient(emulator.token, { baseURL: emulator.url });
  const bench = { emulator, client, sprite: await client.createSprite('bench') };
  const { directory } = emulator.sprite('bench')!;
  return emulated(emulator, directory, [
    ...managementChecks(bench),
    ...commandChecks(bench),
    ...fileChecks(bench),
    ...stateChecks(bench),
  ]);
}
