import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DaytonaEmulator } from '#libs/emulators';
import type { Subject } from './check.js';
import { fileChecks } from './daytona-files.js';
import { managementChecks } from './daytona-management.js';
import { processChecks } from './daytona-processes.js';
import type { DaytonaSdk } from './daytona-sdk.js';
import { stateChecks } from './daytona-state.js';
import { terminalChecks } from './daytona-terminals.js';
import { emulated } from './emulated.js';

export async function subject(modules: string): Promise<Subject> {
  const entry = pathToFileURL(join(modules, '@daytona/sdk/esm/index.js')).href;
  const { Daytona } = (await import(entry)) as DaytonaSdk;
  // Pages of two and the quiet second that the service has, so that the SDK proves that it does with them.
  const emulator = await DaytonaEmulator.start({ pageSize: 2, logQuietMs: 1_000 });
  const client = new Daytona({ apiKey: emulator.token, apiUrl: emulator.url, useDeprecatedPolling: true });
  const bench = { emulator, Daytona, client, sandbox: await client.create({ name: 'bench' }) };
  const { directory } = emulator.sandbox('bench')!;
  return emulated(emulator, directory, [
    ...managementChecks(bench),
    ...processChecks(bench),
    ...terminalChecks(bench),
    ...fileChecks(bench),
    ...stateChecks(bench),
  ]);
}
