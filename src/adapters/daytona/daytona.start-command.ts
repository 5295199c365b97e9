import { SandboxError, type ProcessRequest } from '#libs/contract';
import { titleOf } from '../common/command-words.js';
import type { Deadline } from '../common/deadline.js';
import { closedBeforeExit, sessionLost } from '../common/journal-errors.js';
import type { JournalFeed } from '../common/journal-feed.js';
import { notSupported } from '../common/not-supported.js';
import { outlasting } from '../common/outlasting.js';
import { newNonce, processTag } from '../common/session-id.js';
import { checkFirstWord } from '../common/shim-word.js';
import { readText } from '../common/text-records.js';
import { abandon } from './daytona.abandon.js';
import { LATE_MS, type InSandbox } from './daytona.context.js';
import { runErrand, wordsIn, type Errand } from './daytona.execute.js';
import { feedOf } from './daytona.feed.js';
import { PatientStream } from './daytona.patient-stream.js';
import { journalText } from './daytona.polling-reader.js';
import { startProgram } from './daytona.programs.js';

/** Journals of ended sessions of a kind. Those of many short commands at once must all be there until they are read. */
const KEPT = 100;

/** How a command without a terminal is started. */
export interface StartSpec extends ProcessRequest {
  readonly stdin: boolean;
  readonly detachable: boolean;
  readonly stderrToStdout: boolean;
  /** Seconds that the start waits for output or the exit, to save a look. @default none */
  readonly holdSeconds?: number;
  /** Whether output may be pushed. */
  readonly push: boolean;
  /** Whether the answer to what was sent is waited for even by whoever gives up, who stops it then. */
  readonly isPatient: boolean;
}

/** A command that runs under the shim, its output on its way into `stream`. */
export interface StartedCommand {
  readonly nonce: string;
  readonly pid: string;
  readonly stream: PatientStream;
  readonly feed: JournalFeed;
  /** Who may write to its stdin. */
  readonly owner: string;
}

/**
 * Starts a command and resolves once the shim runs, which has looked at the directory by then. A failure after the
 * command was sent has effect `unknown`; what runs all the same is stopped, since nobody knows of it.
 */
export async function startCommand(
  context: InSandbox,
  { holdSeconds, push, isPatient, ...spec }: StartSpec,
  deadline: Deadline,
): Promise<StartedCommand> {
  const { toolboxes, handle, rubbish } = context;
  const [nonce, owner] = [newNonce(), newNonce()];
  const { stdin, detachable } = spec;
  const home = (await toolboxes.ready(handle, deadline))?.home ?? '';
  const program = startProgram({
    command: { ...spec, nonce, keep: KEPT, ...(spec.dir !== undefined && { dir: underHome(spec.dir, home) }) },
    tag: processTag(detachable ? 'd' : 'c', nonce),
    title: titleOf(spec),
    owner,
    rubbish: rubbish.take(handle),
    ...(holdSeconds !== undefined && !stdin && { holdSeconds }),
  });
  const errand: Errand = { purpose: 'start', program, seconds: holdSeconds ?? 0, again: false, begin: deadline };
  const starting = outlasting(deadline, LATE_MS, async (later) => {
    const text = (await runErrand(toolboxes, handle, errand, later)) ?? '';
    return { ...begun(context, nonce, text, push), owner };
  });
  try {
    return await (isPatient ? starting : deadline.race(starting, 'unknown'));
  } catch (error) {
    if (!(error instanceof SandboxError) || error.effect !== 'none') void abandon(context, nonce, starting);
    throw error instanceof SandboxError && error.code === 'aborted' ? deadline.error(error.effect) : error;
  }
}

/** What a start was answered with. @throws {SandboxError} what kept the command from starting */
function begun(context: InSandbox, nonce: string, text: string, push: boolean): Omit<StartedCommand, 'owner'> {
  const words = wordsIn(text);
  if (words[0] === 'u') throw noSetsid();
  if (words[0] === 'l') throw sessionLost();
  const { pid } = checkFirstWord(words);
  const stream = new PatientStream();
  const feed = feedOf(context, { nonce, pid: () => pid, stream, push });
  deliver(feed, text.slice(text.indexOf('\n') + 1));
  return { nonce, pid, stream, feed };
}

/** What has come with the start; the rest is read. */
function deliver(feed: JournalFeed, text: string): void {
  const { journal, last } = journalText(text, false);
  readText(journal, (record) => feed.live.record(record));
  if (!/^@[xl](?: |$)/.test(last)) feed.live.closed(closedBeforeExit());
}

/** The shim begins at the home directory, wherever that lies. */
export function underHome(dir: string, home: string): string {
  if (dir === home) return '~';
  return dir.startsWith(`${home}/`) ? `~/${dir.slice(home.length + 1)}` : dir;
}

function noSetsid(): SandboxError {
  return notSupported('the sandbox has no program setsid, without which its commands could not be stopped');
}
