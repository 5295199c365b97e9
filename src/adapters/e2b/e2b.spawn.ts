import type { SandboxCommand, SandboxHandle, SpawnRequest, StreamingCommand } from '#libs/contract';
import { checkArguments } from '../common/command-words.js';
import type { Deadline } from '../common/deadline.js';
import { journalCommand } from '../common/journal-command.js';
import { formatSessionId } from '../common/session-id.js';
import type { StdinOwners } from '../common/stdin-owners.js';
import type { E2bMachine } from './e2b.machine.js';
import { startCommand, type StartedCommand } from './e2b.start-command.js';
import { SessionStdin } from './e2b.stdin.js';
import { spawnOnTerminal } from './e2b.terminal.js';

/** Starts a command whose output comes as it is written. */
export async function spawnInSandbox(
  machine: E2bMachine,
  owners: StdinOwners,
  handle: SandboxHandle,
  request: SpawnRequest,
  deadline: Deadline,
): Promise<SandboxCommand> {
  checkArguments(request);
  if (request.tty) return spawnOnTerminal(machine, handle, { ...request, tty: request.tty }, deadline);
  const started = await startCommand(machine, { ...request, stderrToStdout: false }, deadline);
  return commandOf(machine, owners, handle, started, request.stdin);
}

/** What reads a command that was started, and writes to it. */
export function commandOf(
  machine: E2bMachine,
  owners: StdinOwners,
  handle: SandboxHandle,
  started: StartedCommand,
  hasStdin: boolean,
): StreamingCommand {
  const { nonce, process, stream } = started;
  const id = { pid: process.pid, nonce };
  const stdin = new SessionStdin({
    machine,
    id,
    input: process.input,
    isCertain: () => process.isOpen,
    owners,
    ended: stream.exit,
  });
  return journalCommand(handle, started, stdin, { sessionId: formatSessionId(id), stdin: hasStdin });
}
