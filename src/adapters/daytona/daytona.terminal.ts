import type { AttachRequest, SandboxCommand, SpawnRequest, TerminalSize } from '#libs/contract';
import { titleOf } from '../common/command-words.js';
import type { Deadline } from '../common/deadline.js';
import { journalFailed } from '../common/journal-errors.js';
import { formatSessionId, newNonce, type SessionId } from '../common/session-id.js';
import { shimTerminalProgram } from '../common/shim.js';
import { checkFirstWord } from '../common/shim-word.js';
import { terminalCommand } from '../common/terminal-command.js';
import { TerminalOutput } from '../common/terminal-output.js';
import type { InSandbox } from './daytona.context.js';
import { runErrand, wordsIn } from './daytona.execute.js';
import { MarkedOutput } from './daytona.marked-output.js';
import { stageTerminalProgram, terminalStart } from './daytona.programs.js';
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
  const [word] = wordsIn(await runErrand(toolboxes, handle, { purpose: 'start', program, again: false }, deadline));
  if (word !== 'k') throw journalFailed().with({ effect: 'none' });
  const output = new TerminalOutput(true);
  const process = new TerminalProcess(context, nonce, new MarkedOutput(nonce, output));
  output.onOverflow = () => process.close();
  try {
    await process.create(request.tty, deadline);
    await process.connect(deadline);
    await process.write(Buffer.from(terminalStart(nonce)));
    const line = await deadline.race(output.line(), 'unknown');
    const { pid, startCode } = checkFirstWord(line.slice(1).split(' '));
    output.startCode = startCode;
    output.begin();
    return terminalCommand(handle, 'spawn', formatSessionId({ pid, nonce }), output, process, request.stdin);
  } catch (error) {
    process.close();
    throw error;
  }
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
  await process.connect(deadline);
  return terminalCommand(context.handle, 'attach', sessionId, output, process, stdin);
}
