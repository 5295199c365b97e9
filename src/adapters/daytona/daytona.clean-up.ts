import type { InSandbox } from './daytona.context.js';
import { runErrandWithin, type Errand } from './daytona.execute.js';
import { cleanProgram } from './daytona.programs.js';

const CLEAN_MS = 30_000;

/**
 * Removes what nobody asks for any more, below the directory of ours in the home directory. Whether it succeeds, nobody
 * can do more: it goes with its sandbox.
 */
export async function cleanUp({ toolboxes, handle }: InSandbox, paths: readonly string[]): Promise<void> {
  const errand: Errand = { purpose: 'clean', program: cleanProgram(paths), again: true, wake: false };
  await runErrandWithin(toolboxes, handle, errand, CLEAN_MS).catch(() => {});
}
