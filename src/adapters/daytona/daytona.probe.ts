import { recordedExit, type RecordedExit } from '../common/journal-parser.js';
import { probeProgram } from '../common/shim.js';
import type { InSandbox } from './daytona.context.js';
import { runErrandWithin, wordsIn, type Errand } from './daytona.execute.js';

const PROBE_MS = 20_000;

/** The exit that a session left; `undefined`: it left none yet, or never will. */
export async function findExit(context: InSandbox, nonce: string): Promise<RecordedExit | undefined> {
  const [word, ...values] = await probe(context, nonce);
  return word === 'x' ? recordedExit(values) : undefined;
}

/** The process of a session that runs; `undefined`: there is none. */
export async function findPid(context: InSandbox, nonce: string): Promise<string | undefined> {
  const [word, pid] = await probe(context, nonce);
  return word === 'a' ? pid : undefined;
}

async function probe({ toolboxes, handle }: InSandbox, nonce: string): Promise<readonly string[]> {
  const errand: Errand = { purpose: 'read', program: probeProgram(nonce), again: true, wake: false };
  return wordsIn(await runErrandWithin(toolboxes, handle, errand, PROBE_MS));
}
