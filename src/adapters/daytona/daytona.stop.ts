import type { Deadline } from '../common/deadline.js';
import { malformedWord } from '../common/journal-errors.js';
import type { InSandbox } from './daytona.context.js';
import { runErrand, wordsIn, type Errand } from './daytona.execute.js';
import { stopProgram } from './daytona.programs.js';

const MAX_ANSWER_BYTES = 16 * 1024;

/** How a stop went: it was seen to be gone; it was not there; nothing is known of its end. */
export type Stopped = 'gone' | 'absent' | 'there';

const OUTCOMES: ReadonlyMap<string | undefined, Stopped> = new Map([
  ['g', 'gone'],
  ['n', 'absent'],
  ['a', 'absent'],
  ['s', 'there'],
]);

/**
 * Stops a session from inside its sandbox. Sent once. What does not run has no processes; where they stand still, it is
 * started first, since they would go on.
 */
export async function stopSession(
  { toolboxes, handle }: InSandbox,
  { nonce, pid, graceMs }: { readonly nonce: string; readonly pid: string; readonly graceMs: number },
  deadline: Deadline,
): Promise<Stopped> {
  const errand: Errand = {
    purpose: 'stop',
    program: stopProgram({ nonce, pid, graceMs }),
    seconds: graceMs / 1000 + 3,
    maxBytes: MAX_ANSWER_BYTES,
    again: false,
    wake: 'frozen',
  };
  const text = await runErrand(toolboxes, handle, errand, deadline);
  if (text === undefined) return 'absent';
  const outcome = OUTCOMES.get(wordsIn(text)[0]);
  if (outcome === undefined) throw malformedWord();
  return outcome;
}
