import { constants, closeSync, openSync, writeSync } from 'node:fs';
import { appendFile, readFile, rm } from 'node:fs/promises';
import { signalProcess } from '#libs/process';
import { sleep } from './within.js';
import { DaemonFailure } from './daemon-failure.js';
import { echoed } from './log-format.js';
import type { DaytonaSettings } from './options.js';
import type { Session } from './session.js';
import type { SessionCommand } from './session-command.js';

const LOOK_MS = 5;

/**
 * Writes a line to the stdin of a command, which reads it when it likes: what does not fit waits.
 *
 * @throws {DaemonFailure} 410 when the end of the command is known, or its shell has ended; 500 when it has no stdin
 */
export async function sendInput(
  session: Session,
  command: SessionCommand,
  text: string,
  { alternatives }: DaytonaSettings,
  signal: AbortSignal,
): Promise<void> {
  if (command.knownExitCode !== undefined) {
    const message = `command has already completed with exit code ${command.knownExitCode}`;
    throw new DaemonFailure(410, message, 'COMMAND_ALREADY_COMPLETED');
  }
  if (session.ended) throw new DaemonFailure(410, 'session has ended', 'SESSION_ENDED');
  const data = Buffer.from(text.endsWith('\n') ? text : `${text}\n`);
  const gone = AbortSignal.any([signal, session.gone]);
  const pipe = await openPipe(command, gone);
  try {
    if (!command.suppressInputEcho) await appendFile(command.files.log, echoed(data));
    for (let at = 0; at < data.length;) {
      const written = putSome(pipe, data.subarray(at));
      at += written;
      if (written === 0) await sleep(LOOK_MS, gone);
    }
  } finally {
    closeSync(pipe);
  }
  if (alternatives.inputEof === 'each_input') await endHolder(command);
}

/** The write end of its stdin, once something has the other end. */
async function openPipe(command: SessionCommand, gone: AbortSignal): Promise<number> {
  for (;;) {
    try {
      return openSync(command.files.stdin, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') {
        throw new DaemonFailure(500, `failed to open input pipe: open ${command.id}: no such file or directory`);
      }
      if (code !== 'ENXIO') throw error;
      await sleep(LOOK_MS, gone);
    }
  }
}

/** @returns how many bytes fitted */
function putSome(pipe: number, data: Buffer): number {
  try {
    return writeSync(pipe, data);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EAGAIN') return 0;
    // Nobody reads any more.
    if (code === 'EPIPE') return data.length;
    throw error;
  }
}

/** What held the stdin open is gone: when the command has read what there is, it finds the end. */
async function endHolder(command: SessionCommand): Promise<void> {
  const pid = Number(await readFile(command.files.holder, 'utf8').catch(() => ''));
  // Only once: the number may be another's later.
  await rm(command.files.holder, { force: true });
  if (pid > 1) signalProcess(pid, 'SIGKILL');
}
