import type { Deadline } from '../common/deadline.js';
import { FirstWord } from '../common/first-word.js';
import { malformedWord } from '../common/journal-errors.js';
import { newNonce, type SessionId } from '../common/session-id.js';
import { parsed } from '../common/sh-process.js';
import { terminateProgram } from '../common/shim-terminate.js';
import type { E2bMachine, Reach } from './e2b.machine.js';
import { findSession } from './e2b.sessions.js';
import { startScript } from './e2b.start-process.js';

/** How the stop of a session went: nothing of it is left; it was not there; it is another's id; some of it is left. */
export type StopOutcome = 'gone' | 'absent' | 'another' | 'left';

const OUTCOMES: Readonly<Record<string, StopOutcome>> = { g: 'gone', n: 'absent', a: 'another', s: 'left' };

/**
 * Stops all processes of a session by a program in its sandbox, which is started once and looks until they are gone: the
 * signals of the service reach only the first of them. A session whose journal somebody deleted cannot be told from one
 * that never was, except by the list of the service.
 *
 * @param graceMs between TERM and KILL; 0 kills at once
 */
export async function stopSession(
  machine: E2bMachine,
  { pid, nonce }: SessionId,
  graceMs: number,
  deadline: Deadline,
  reach?: Pick<Reach, 'wake'>,
): Promise<StopOutcome> {
  const first = new FirstWord({ record: () => {}, closed: () => {} });
  const spec = { kind: 'r', nonce: newNonce(), title: 'stops' } as const;
  const program = terminateProgram({ nonce, pid, graceMs });
  const process = await startScript(machine, spec, program, parsed(first), deadline, reach);
  try {
    const [word = ''] = await deadline.race(first.arrived, 'unknown');
    const outcome = OUTCOMES[word];
    if (outcome === undefined) throw malformedWord();
    const isLost = outcome === 'absent' && (await findSession(machine, { pid, nonce }, deadline, reach)) !== undefined;
    return isLost ? 'left' : outcome;
  } finally {
    process.closeSoon();
  }
}
