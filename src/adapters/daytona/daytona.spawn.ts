import type { SandboxCommand, SpawnRequest } from '#libs/contract';
import { checkArguments } from '../common/command-words.js';
import { withinDeadline } from '../common/deadline.js';
import { journalCommand } from '../common/journal-command.js';
import { formatSessionId } from '../common/session-id.js';
import { USE_TIMEOUT_MS, type InSandbox } from './daytona.context.js';
import { startCommand } from './daytona.start-command.js';
import { JournalStdin } from './daytona.stdin.js';
import { spawnTerminal } from './daytona.terminal.js';

/** Starts a command whose output comes as it is written. */
export async function spawnInDaytona(context: InSandbox, request: SpawnRequest): Promise<SandboxCommand> {
  checkArguments(request);
  return withinDeadline(USE_TIMEOUT_MS, request.signal, async (deadline) => {
    if (request.tty) return spawnTerminal(context, { ...request, tty: request.tty }, deadline);
    const started = await startCommand(
      context,
      { ...request, stderrToStdout: false, push: true, isPatient: false },
      deadline,
    );
    const stdin = new JournalStdin(context, started, started.stream);
    return journalCommand(context.handle, started, stdin, {
      sessionId: formatSessionId(started),
      stdin: request.stdin,
    });
  });
}
