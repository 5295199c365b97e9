import { beyondEnd, malformedWord, noSession, stdinNotOpen } from './journal-errors.js';

/**
 * What a reader of a session's journal says first: whether the session is on a terminal, or its output can be read.
 *
 * @param stdin whether it is to be written to
 * @throws {SandboxError} `not_found`; `invalid` / `offset_beyond_end`, `stdin_not_open`
 */
export function checkSessionWord([word, ...values]: readonly string[], stdin: boolean): 'terminal' | 'journal' {
  if (word === 't') return 'terminal';
  if (word === 'n') throw noSession();
  if (word === 'b') throw beyondEnd();
  if (word !== 'f' || values.length !== 3) throw malformedWord();
  if (stdin && values[2] !== '1') throw stdinNotOpen('the stdin of this session was not opened');
  return 'journal';
}
