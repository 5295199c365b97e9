import { SandboxError, type TerminalSize } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { malformedWord, noSession } from '../common/journal-errors.js';
import { processTag, type ProcessKind } from '../common/session-id.js';
import { FROM_STDIN, fromStdinWithin } from '../common/shim-start.js';
import { socketTimeoutMs, spritePath, type SpritesClient } from './sprites.client.js';
import { SpriteProcess, type ProcessSink } from './sprites.process.js';

export interface SpriteProgram {
  readonly name: string;
  readonly program: string;
  readonly kind: ProcessKind;
  readonly nonce: string;
  /** What the list of sessions shows of it beside our tag. */
  readonly title: string;
  /** What becomes of it when its connection is lost. */
  readonly lives: 'on' | '10s' | '1s';
  /** `undefined`: no terminal. */
  readonly tty?: TerminalSize | undefined;
}

/** The parameters of an exec that belong to how long it lives. */
function lifetime(lives: SpriteProgram['lives']): [string, string][] {
  if (lives !== 'on') return [['max_run_after_disconnect', lives]];
  // Neither alone is documented to be enough.
  return [
    ['detachable', 'true'],
    ['max_run_after_disconnect', '0'],
  ];
}

/**
 * Starts a program for `sh` that comes over stdin, so that it runs only once this end is connected. A failure before
 * it was sent has effect `none`.
 *
 * @param connecting until then it may be sent
 */
export async function startProgram(
  client: SpritesClient,
  { program, ...spec }: SpriteProgram,
  sink: ProcessSink,
  deadline: Deadline,
  connecting: Deadline = deadline,
): Promise<SpriteProcess> {
  const script = spec.lives === 'on' ? fromStdinWithin(Math.ceil(socketTimeoutMs(client) / 1000)) : FROM_STDIN;
  const process = await startShell(client, { ...spec, script }, sink, connecting);
  try {
    await sendProgram(process, spec, program);
    await process.introduced(deadline);
  } catch (error) {
    process.close();
    throw error;
  }
  return process;
}

/** A shell that waits for its program. */
export async function startShell(
  client: SpritesClient,
  { name, kind, nonce, title, lives, tty, script }: Omit<SpriteProgram, 'program'> & { readonly script: string },
  sink: ProcessSink,
  deadline: Deadline,
): Promise<SpriteProcess> {
  const process = new SpriteProcess(sink, tty !== undefined);
  const query: [string, string][] = [
    ...['sh', '-c', script, processTag(kind, nonce), title].map((word): [string, string] => ['cmd', word]),
    ['tty', String(tty !== undefined)],
    ['stdin', 'true'],
    ...lifetime(lives),
  ];
  if (tty) query.push(['cols', String(tty.cols)], ['rows', String(tty.rows)]);
  await process.connect(client, spritePath(name, 'exec'), query, deadline).catch((error: unknown) => {
    throw (error as SandboxError).with({ effect: 'none' });
  });
  return process;
}

/** What a shell that was started so runs. */
export function sendProgram(
  process: SpriteProcess,
  { kind, nonce }: Pick<SpriteProgram, 'kind' | 'nonce'>,
  program: string,
): Promise<void> {
  return process.write(Buffer.from(`${program}${processTag(kind, nonce)}\n`));
}

export interface RunningProcess {
  readonly name: string;
  readonly pid: string;
  readonly tty: boolean;
}

/**
 * Attaches to a process that was just seen alive. Runtimes that do not know its path take its id as a parameter; where
 * that starts another process, which ends soon after its connection, there is no such session.
 */
export async function attachProcess(
  client: SpritesClient,
  running: RunningProcess,
  sink: ProcessSink,
  deadline: Deadline,
): Promise<SpriteProcess> {
  const { name, pid } = running;
  try {
    return await attachAt(client, spritePath(name, 'exec', pid), [], running, sink, deadline);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    if (error.code !== 'not_found' && error.detail !== 'malformed_reply') throw error;
    return attachAt(client, spritePath(name, 'exec'), [['id', pid]], running, sink, deadline);
  }
}

async function attachAt(
  client: SpritesClient,
  path: string,
  query: readonly [string, string][],
  { pid, tty }: RunningProcess,
  sink: ProcessSink,
  deadline: Deadline,
): Promise<SpriteProcess> {
  const process = new SpriteProcess(sink, tty);
  try {
    const parameters: [string, string][] = [...query, ['stdin', 'true']];
    if (tty) parameters.push(['tty', 'true']);
    await process.connect(client, path, parameters, deadline);
    await process.introduced(deadline);
    if (process.pid !== pid) throw query.length > 0 ? noSession() : malformedWord();
  } catch (error) {
    process.close();
    throw error;
  }
  return process;
}
