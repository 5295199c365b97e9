import { CommandStream, type ProcessRequest } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { titleOf } from '../common/command-words.js';
import { FirstWord } from '../common/first-word.js';
import { JournalFeed, type JournalFeedInit } from '../common/journal-feed.js';
import { newNonce } from '../common/session-id.js';
import { parsed, type OpenReader } from '../common/sh-process.js';
import { shimProgram } from '../common/shim.js';
import { checkFirstWord } from '../common/shim-word.js';
import { StdinTaken } from '../common/stdin-taken.js';
import { abandon } from './sprites.abandon.js';
import { socketTimeoutMs, type SpritesClient } from './sprites.client.js';
import type { SpriteProcess } from './sprites.process.js';
import { startProgram } from './sprites.start-process.js';

/** How a command without a terminal is started. */
export interface StartSpec extends ProcessRequest {
  readonly stdin: boolean;
  readonly detachable: boolean;
  /** Nobody will ask for its output again. */
  readonly once: boolean;
  readonly stderrToStdout: boolean;
}

/** A command that runs under the shim, its output on its way into `stream`. */
export interface StartedCommand {
  readonly nonce: string;
  readonly process: SpriteProcess;
  readonly stream: CommandStream;
  readonly feed: JournalFeed;
  /** Told only of a stdin that is open. */
  readonly taken: StdinTaken;
}

/** The home directory of every sprite. */
const HOME = '/home/sprite';

/**
 * Starts a command and resolves once the shim runs, which has looked at the directory by then. A failure after the
 * command was sent has effect `unknown`; where it lives on it is stopped.
 *
 * @param connecting until then it may be sent
 */
export async function startCommand(
  client: SpritesClient,
  name: string,
  spec: StartSpec,
  deadline: Deadline,
  connecting: Deadline = deadline,
): Promise<StartedCommand> {
  const nonce = newNonce();
  const { detachable, once } = spec;
  const stream = new CommandStream();
  const taken = new StdinTaken();
  const feed = feedOf(client, name, { nonce, stream, taken, survives: detachable, onEnd: () => process?.close() });
  const first = new FirstWord(feed.live);
  const program = shimProgram({ ...spec, nonce, dir: underHome(spec.dir), acknowledged: true });
  const lives = detachable ? 'on' : once ? '1s' : '10s';
  let process: SpriteProcess | undefined;
  try {
    const kind = detachable ? 'd' : 'c';
    process = await startProgram(
      client,
      { name, program, kind, nonce, title: titleOf(spec), lives },
      parsed(first),
      deadline,
      connecting,
    );
    checkFirstWord(await deadline.race(first.arrived, 'unknown'));
  } catch (error) {
    feed.stop();
    process?.close();
    if (detachable) abandon(client, name, nonce, error);
    throw error;
  }
  // What ended at once has let go of its process before it was known here.
  if (stream.end !== undefined) process.close();
  return { nonce, process, stream, feed, taken };
}

/** Of a session that runs, or did. */
export function feedOf(
  client: SpritesClient,
  name: string,
  init: Omit<JournalFeedInit, 'openReader' | 'ready' | 'timeoutMs'>,
): JournalFeed {
  const openReader: OpenReader = (program, sink, deadline) => {
    const spec = { name, program, kind: 'r', nonce: newNonce(), title: 'reads', lives: '1s' } as const;
    return startProgram(client, spec, sink, deadline);
  };
  return new JournalFeed({ ...init, openReader, timeoutMs: socketTimeoutMs(client) });
}

/** The shim begins at the home directory, wherever that lies. */
export function underHome(dir: string | undefined): string | undefined {
  if (dir === HOME) return '~';
  return dir?.startsWith(`${HOME}/`) ? `~/${dir.slice(HOME.length + 1)}` : dir;
}
