import type { AttachRequest, SandboxCommand, SandboxHandle, SpawnRequest, TerminalSize } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { malformedWord } from '../common/journal-errors.js';
import { formatSessionId, newNonce, type SessionId } from '../common/session-id.js';
import { checkFirstWord } from '../common/shim-word.js';
import { terminalCommand } from '../common/terminal-command.js';
import { TerminalOutput } from '../common/terminal-output.js';
import { titleOf } from '../common/command-words.js';
import { shimTerminalProgram } from '../common/shim.js';
import { FROM_TERMINAL } from '../common/shim-start.js';
import { abandon } from './sprites.abandon.js';
import type { SpritesClient } from './sprites.client.js';
import { attachProcess, sendProgram, startShell } from './sprites.start-process.js';
import { underHome } from './sprites.start-command.js';

/** Starts a command on a terminal of its own. */
export async function spawnTerminal(
  client: SpritesClient,
  handle: SandboxHandle,
  request: SpawnRequest & { readonly tty: TerminalSize },
  deadline: Deadline,
): Promise<SandboxCommand> {
  const nonce = newNonce();
  const { detachable, tty } = request;
  const kind = detachable ? 'd' : 'c';
  const output = new TerminalOutput(true);
  const spec = {
    name: handle.name,
    kind,
    nonce,
    title: titleOf(request),
    lives: detachable ? 'on' : '10s',
    tty,
  } as const;
  const process = await startShell(client, { ...spec, script: FROM_TERMINAL }, output, deadline);
  output.onOverflow = () => process.close();
  try {
    if ((await deadline.race(output.line(), 'none')) !== '@w') throw malformedWord().with({ effect: 'none' });
    await sendProgram(process, spec, shimTerminalProgram({ ...request, nonce, dir: underHome(request.dir) }));
    const line = await deadline.race(output.line(), 'unknown');
    output.startCode = checkFirstWord(line.slice(1).split(' ')).startCode;
    output.begin();
    await process.introduced(deadline);
  } catch (error) {
    process.close();
    if (detachable) abandon(client, handle.name, nonce, error);
    throw error;
  }
  return terminalCommand(handle, 'spawn', formatSessionId({ pid: process.pid, nonce }), output, process, request.stdin);
}

/** Joins a session on a terminal. Its output begins with what the service shows of the screen as it is. */
export async function attachTerminal(
  client: SpritesClient,
  handle: SandboxHandle,
  { id, sessionId, stdin }: AttachRequest & { readonly id: SessionId },
  deadline: Deadline,
): Promise<SandboxCommand> {
  const output = new TerminalOutput(false);
  const process = await attachProcess(client, { name: handle.name, pid: id.pid, tty: true }, output, deadline);
  output.onOverflow = () => process.close();
  return terminalCommand(handle, 'attach', sessionId, output, process, stdin);
}
