import type { Exit } from '#libs/contract';
import type { RecordedExit } from './journal-parser.js';

/** A recorded exit as the contract has it. The signal is known only of a kill that was recorded by whoever killed. */
export function exitOf({ exitCode, how }: RecordedExit): Exit {
  if (how === 's') return { exitCode, startError: startError(exitCode) };
  if (how === 'k') return { exitCode, signal: 'SIGKILL' };
  return { exitCode };
}

export function startError(exitCode: number): string {
  return exitCode === 127 ? 'there is no such program' : 'it cannot be executed';
}
