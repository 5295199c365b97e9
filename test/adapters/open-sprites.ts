import { afterEach } from '@jest/globals';
import type { SandboxHandle } from '#libs/contract';
import { SpritesEmulator, type SpritesEmulatorOptions } from '#libs/emulators';
import { SpritesAdapter } from '../../src/adapters/sprites/sprites.adapter.js';
import { SpritesOptions } from '../../src/adapters/sprites/sprites.options.js';

/** What the tests of a file open, closed after each of them in this order. */
export const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** An emulated service with one sprite in it, which no call was made to yet, and an adapter that does not wait long. */
export async function openSprites(
  options: Partial<SpritesEmulatorOptions> = {},
  given: ConstructorParameters<typeof SpritesOptions>[0] = {},
): Promise<{ emulator: SpritesEmulator; adapter: SpritesAdapter; box: SandboxHandle }> {
  const emulator = await SpritesEmulator.start(options);
  closing.push(() => emulator.close());
  const settings = { token: emulator.token, baseUrl: `${emulator.url}/`, retryBaseMs: 2, timeoutMs: 3_000, ...given };
  const adapter = new SpritesAdapter(new SpritesOptions(settings));
  const box = await adapter.create('box');
  emulator.calls.clear();
  return { emulator, adapter, box };
}
