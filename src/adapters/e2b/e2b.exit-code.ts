import { constants } from 'node:os';
import type { JsonObject } from '../common/json.js';

/** As Go calls the signals that end a process. */
const SIGNAL_WORDS: ReadonlyMap<string | undefined, NodeJS.Signals> = new Map<string, NodeJS.Signals>([
  ['hangup', 'SIGHUP'],
  ['interrupt', 'SIGINT'],
  ['quit', 'SIGQUIT'],
  ['illegal instruction', 'SIGILL'],
  ['trace/breakpoint trap', 'SIGTRAP'],
  ['aborted', 'SIGABRT'],
  ['bus error', 'SIGBUS'],
  ['floating point exception', 'SIGFPE'],
  ['killed', 'SIGKILL'],
  ['segmentation fault', 'SIGSEGV'],
  ['broken pipe', 'SIGPIPE'],
  ['alarm clock', 'SIGALRM'],
  ['terminated', 'SIGTERM'],
]);

/** What `status` says of an exit with 0, the second after envd was replaced. */
const EXITED: ReadonlySet<unknown> = new Set(['exit status 0', 'exited']);

/**
 * The exit code in an `end` event. What is zero is left out there, so that none means 0 where the event tells of an end;
 * a process that a signal ended has -1, and the signal only in words. `undefined`: it says nothing of the kind.
 */
export function exitCodeOf({ exitCode, exited, status }: JsonObject): number | undefined {
  if (exitCode === undefined) return EXITED.has(status) || (exited === true && status === undefined) ? 0 : undefined;
  if (typeof exitCode !== 'number' || !Number.isInteger(exitCode)) return undefined;
  if (exitCode >= 0) return exitCode <= 255 ? exitCode : undefined;
  const [, word] = /^signal: ([^(]+?)(?: \(core dumped\))?$/.exec(typeof status === 'string' ? status : '') ?? [];
  const signal = SIGNAL_WORDS.get(word);
  return signal === undefined ? undefined : 128 + constants.signals[signal];
}
