import type { DaytonaEmulator } from '#libs/emulators';
import type { DaytonaSdk, SdkClient, SdkSandbox } from './daytona-sdk.js';

/** What the checks share. */
export interface DaytonaBench {
  readonly emulator: DaytonaEmulator;
  readonly Daytona: DaytonaSdk['Daytona'];
  readonly client: SdkClient;
  /** One that runs. */
  readonly sandbox: SdkSandbox;
}

/** Waits for what no call of the SDK waits for. */
export async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await done())) await new Promise((resolve) => setTimeout(resolve, 10));
}
