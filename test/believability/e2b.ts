import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { E2bEmulator } from '#libs/emulators';
import type { Subject } from './check.js';
import { commandChecks } from './e2b-commands.js';
import { fileChecks } from './e2b-files.js';
import { managementChecks } from './e2b-management.js';
import type { E2bSdk } from './e2b-sdk.js';
import { stateChecks } from './e2b-state.js';
import { emulated } from './emulated.js';

export async function subject(modules: string): Promise<Subject> {
  const entry = pathToFileURL(join(modules, 'e2b/dist/index.mjs')).href;
  const { Sandbox } = (await import(entry)) as E2bSdk;
  const emulator = await E2bEmulator.start();
  // One base URL for all sandboxes: the SDK adds the headers that tell them apart.
  const connection = { apiKey: emulator.apiKey, apiUrl: emulator.url, sandboxUrl: emulator.url };
  const bench = { emulator, Sandbox, connection, sandbox: await Sandbox.create({ ...connection }) };
  const { directory } = emulator.sandbox(bench.sandbox.sandboxId)!;
  return emulated(emulator, directory, [
    ...managementChecks(bench),
    ...commandChecks(bench),
    ...fileChecks(bench),
    ...stateChecks(bench),
  ]);
}
