import type { E2bEmulator } from '#libs/emulators';
import type { SdkConnection, SdkSandbox, SdkSandboxClass } from './e2b-sdk.js';

/** What the checks share. */
export interface E2bBench {
  readonly emulator: E2bEmulator;
  readonly Sandbox: SdkSandboxClass;
  readonly connection: SdkConnection;
  /** One that runs. */
  readonly sandbox: SdkSandbox;
}
