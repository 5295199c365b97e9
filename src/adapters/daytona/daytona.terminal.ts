import type { AttachRequest, SandboxCommand, SandboxError, SpawnRequest, TerminalSize } from '#libs/contract';
import { titleOf } from '../common/command-words.js';
import type { Deadline } from '../common/deadline.js';
import { journalFailed } from '../common/journal-errors.js';
import { outlasting } from '../common/outlasting.js';
import { formatSessionId, newNonce, type SessionId } from '../common/session-id.js';
import { shimTerminalProgram } from '../common/shim.js';
import { checkFirstWord } from '../common/shim-word.js';
import { terminalCommand } from '../common/terminal-command.js';
import { TerminalOutput } from '../common/terminal-output.js';
import { cleanUp } from './daytona.clean-up.js';
import { LATE_MS, type InSandbox } from './daytona.context.js';
import { runErrand, wordsIn } from './daytona.execute.js';
import { MarkedOutput } from './daytona.marked-output.js';
import { findExit } from './daytona.probe.js';
import { kindOf, stageTerminalProgram, terminalStart } from './daytona.programs.js';
import { underHome } from './daytona.start-command.js';
import { TerminalProcess } from './daytona.terminal-process.js';

/**
 * Starts a command on a terminal of its own. The service only has terminals with a shell, so the program is left in a
 * file, and the shell is told to turn into it; what the shell shows until then is dropped.
 */
export async function spawnTerminal(
  context: InSandbox,
  request: SpawnRequest & { readonly tty: TerminalSize },
  deadline: Deadline,
): Promise<SandboxCommand> {
  const { toolboxes, handle } = context;
  const nonce = newNonce();
  const home = (await toolboxes.ready(handle, deadline))?.home ?? '';
  const { dir, detachable } = request;
  const shim = shimTerminalProgram({ ...request, nonce, ...(dir !== undefined && { dir: underHome(dir, home) }) });
  const program = stageTerminalProgram({ nonce, shim, title: titleOf(request), detachable });
  const output = new TerminalOutput(true);
  const process = new TerminalProcess(context, nonce, new MarkedOutput(nonce, output));
  output.onOverflow = () => process.close();
  const making = outlasting(deadline, LATE_MS, async (later) => {
    const [word] = wordsIn(await runErrand(toolboxes, handle, { purpose: 'start', program, again: false }, later));
    if (word !== 'k') throw journalFailed().with({ effect: 'none' });
    deadline.check();
    await process.create(request.tty, later);
  });
  try {
    await deadline.race(making, 'unknown');
    await process.connect(deadline);
    await process.write(Buffer.from(terminalStart(nonce)));
    const line = await deadline.race(output.line(), 'unknown');
    const { pid, startCode } = checkFirstWord(line.slice(1).split(' '));
    output.startCode = startCode;
    output.begin();
    return terminalCommand(handle, 'spawn', formatSessionId({ pid, nonce }), output, process, request.stdin);
  } catch (error) {
    process.close();
    void abandoned(making, process).then(() => cleanUp(context, [`start/${nonce}`, `${kindOf(detachable)}/${nonce}`]));
    throw error;
  }
}

/** Nobody knows of it: it is ended once what was sent has been answered, or has had its time. */
async function abandoned(making: Promise<void>, process: TerminalProcess): Promise<void> {
  await making.catch(() => {});
  await process.remove();
}

/** Joins a session on a terminal, from here on. */
export async function attachTerminal(
  context: InSandbox,
  { id, sessionId, stdin }: AttachRequest & { readonly id: SessionId },
  deadline: Deadline,
): Promise<SandboxCommand> {
  const output = new TerminalOutput(false);
  const process = new TerminalProcess(context, id.nonce, output);
  output.onOverflow = () => process.close();
  await process.connect(deadline).catch(async (error: SandboxError) => {
    // It may have ended meanwhile.
    const exit = error.code === 'aborted' ? undefined : await findExit(context, id.nonce).catch(() => undefined);
    if (exit === undefined) throw error;
    output.closed(error, exit.exitCode);
  });
  return terminalCommand(context.handle, 'attach', sessionId, output, process, stdin);
}
