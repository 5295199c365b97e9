import { recordedExit, type RecordedExit } from '../common/journal-parser.js';
import { probeProgram } from '../common/shim.js';
import type { InSandbox } from './daytona.context.js';
import { runErrandWithin, wordsIn, type Errand } from './daytona.execute.js';

const PROBE_MS = 20_000;

/** The exit that a session left; `undefined`: it left none yet, or never will. */
export async function findExit({ toolboxes, handle }: InSandbox, nonce: string): Promise<RecordedExit | undefined> {
  const errand: Errand = { purpose: 'read', program: probeProgram(nonce), again: true, wake: false };
  const [word, ...values] = wordsIn(await runErrandWithin(toolboxes, handle, errand, PROBE_MS));
  return word === 'x' ? recordedExit(values) : undefined;
}
