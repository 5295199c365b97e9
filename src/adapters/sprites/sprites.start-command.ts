import { CommandStream, SandboxError, type ProcessRequest } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { FirstWord } from '../common/first-word.js';
import { journalFailed, malformedWord, noSuchDirectory } from '../common/journal-errors.js';
import { JournalFeed } from '../common/journal-feed.js';
import { newNonce } from '../common/session-id.js';
import { parsed, type OpenReader } from '../common/sh-process.js';
import { shimProgram } from '../common/shim.js';
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
}

/** The home directory of every sprite. */
const HOME = '/home/sprite';

/**
 * Starts a command and resolves once the shim runs, which has looked at the directory by then. A failure after the
 * command was sent has effect `unknown`.
 */
export async function startCommand(
  client: SpritesClient,
  name: string,
  spec: StartSpec,
  deadline: Deadline,
): Promise<StartedCommand> {
  const nonce = newNonce();
  const { detachable, once } = spec;
  const stream = new CommandStream();
  const feed = feedOf(client, name, nonce, stream, detachable, () => process?.close());
  const first = new FirstWord(feed.live);
  const program = shimProgram({ ...spec, nonce, dir: underHome(spec.dir) });
  const lives = detachable ? 'on' : once ? '1s' : '10s';
  let process: SpriteProcess | undefined;
  try {
    const kind = detachable ? 'd' : 'c';
    process = await startProgram(
      client,
      { name, program, kind, nonce, title: titleOf(spec), lives },
      parsed(first),
      deadline,
    );
    checkFirstWord(await deadline.race(first.arrived, 'unknown'));
  } catch (error) {
    feed.stop();
    process?.close();
    throw error;
  }
  // What ended at once has let go of its process before it was known here.
  if (stream.end !== undefined) process.close();
  return { nonce, process, stream, feed };
}

/** Of a session that runs, or did. */
export function feedOf(
  client: SpritesClient,
  name: string,
  nonce: string,
  stream: CommandStream,
  survives: boolean,
  onEnd: () => void,
): JournalFeed {
  const openReader: OpenReader = (program, sink, deadline) => {
    const spec = { name, program, kind: 'r', nonce: newNonce(), title: 'reads', lives: '1s' } as const;
    return startProgram(client, spec, sink, deadline);
  };
  return new JournalFeed({ nonce, stream, openReader, timeoutMs: socketTimeoutMs(client), survives, onEnd });
}

/** What a shim says before the command runs. @throws {SandboxError} that it does not */
export function checkFirstWord([word, pid, start]: readonly string[]): { readonly startCode: number } {
  if (word === 'd') throw noSuchDirectory();
  if (word === 'j') throw journalFailed().with({ effect: 'none' });
  if (word !== 'r' || pid === undefined || start === undefined) throw malformedWord();
  return { startCode: Number(start) };
}

/** The shim begins at the home directory, wherever that lies. */
export function underHome(dir: string | undefined): string | undefined {
  if (dir === HOME) return '~';
  return dir?.startsWith(`${HOME}/`) ? `~/${dir.slice(HOME.length + 1)}` : dir;
}

const MAX_TITLE = 200;

/** What lists show of a command: its words, without its variables. */
export function titleOf({ cmd, args }: Pick<ProcessRequest, 'cmd' | 'args'>): string {
  const title = [cmd, ...args].join(' ').replaceAll(/\p{Cc}+/gu, ' ');
  // Never half a surrogate pair.
  return title.length <= MAX_TITLE
    ? title
    : `${title
        .slice(0, MAX_TITLE)
        .toWellFormed()
        .replace(/\uFFFD$/u, '')}…`;
}

/** The longest argument and all of them together that Linux hands to a program. */
const MAX_WORD_BYTES = 128 * 1024 - 1;
const MAX_ARGV_BYTES = 2 * 1024 * 1024 - 64 * 1024;

/** @throws {SandboxError} `invalid` / `argument_list_too_long` */
export function checkArguments({ cmd, args, env }: ProcessRequest): void {
  let total = 0;
  for (const word of [cmd, ...args, ...env.map(([name, value]) => `${name}=${value}`)]) {
    const bytes = Buffer.byteLength(word) + 1;
    total += bytes + 8;
    if (bytes <= MAX_WORD_BYTES && total <= MAX_ARGV_BYTES) continue;
    throw new SandboxError('invalid', {
      detail: 'argument_list_too_long',
      effect: 'none',
      message: 'the arguments and variables together are more than a sprite takes',
    });
  }
}
