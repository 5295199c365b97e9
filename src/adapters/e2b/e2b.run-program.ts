import { SandboxError } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { closedBeforeExit } from '../common/journal-errors.js';
import { processTag } from '../common/session-id.js';
import { checkFirstWord } from '../common/shim-word.js';
import { abandon } from './e2b.abandon.js';
import type { E2bMachine } from './e2b.machine.js';
import type { E2bProcess } from './e2b.process.js';
import type { ProcessSpec } from './e2b.start-process.js';

/** With which the shim itself says that it runs nothing. */
const REFUSALS: ReadonlySet<unknown> = new Set(['no_such_directory', 'journal_failed']);

/**
 * What a shell that waits for it runs. Resolves with what the shim says first, so that the command runs. Where that does
 * not come, what perhaps runs all the same is stopped, since nobody knows of it.
 */
export async function runProgram(
  machine: E2bMachine,
  process: E2bProcess,
  spec: ProcessSpec,
  program: string,
  firstWord: () => Promise<readonly string[]>,
  deadline: Deadline,
): Promise<ReturnType<typeof checkFirstWord>> {
  try {
    const writing = process.write(Buffer.from(`${program}${processTag(spec.kind, spec.nonce)}\n`)).catch(notRun);
    writing.catch(() => {});
    await deadline.race(writing, 'unknown');
    return checkFirstWord(await deadline.race(firstWord(), 'unknown'));
  } catch (error) {
    process.close();
    if (!(error instanceof SandboxError && REFUSALS.has(error.detail))) void abandon(machine, process.pid, spec);
    throw error;
  }
}

/** Where a template has no `sh`, or no `setsid`. Without the last line of its program a shell has run nothing. */
function notRun(error: unknown): never {
  const hasEnded = error instanceof SandboxError && error.code === 'command_exited';
  throw hasEnded ? closedBeforeExit(error).with({ effect: 'none' }) : error;
}
