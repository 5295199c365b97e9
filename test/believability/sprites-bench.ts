import type { SpritesEmulator } from '#libs/emulators';
import type { SdkClient, SdkSprite } from './sprites-sdk.js';

/** What the checks share. */
export interface SpritesBench {
  readonly emulator: SpritesEmulator;
  readonly client: SdkClient;
  /** One that exists. */
  readonly sprite: SdkSprite;
}
