import { StreamingCommand, type SandboxCommand, type SpawnRequest } from '#libs/contract';
import { checkArguments } from '../common/command-words.js';
import { Deadline } from '../common/deadline.js';
import { formatSessionId } from '../common/session-id.js';
import { USE_TIMEOUT_MS, type InSandbox } from './daytona.context.js';
import { startCommand } from './daytona.start-command.js';
import { JournalStdin } from './daytona.stdin.js';
import { spawnTerminal } from './daytona.terminal.js';

/** Starts a command whose output comes as it is written. */
export async function spawnInDaytona(context: InSandbox, request: SpawnRequest): Promise<SandboxCommand> {
  checkArguments(request);
  const deadline = new Deadline(USE_TIMEOUT_MS, request.signal);
  try {
    if (request.tty) return await spawnTerminal(context, { ...request, tty: request.tty }, deadline);
    const started = await startCommand(context, { ...request, stderrToStdout: false, push: true }, deadline);
    const { pid, nonce, stream, feed } = started;
    const stdin = new JournalStdin(context, started, stream);
    return new StreamingCommand({
      provider: context.handle.provider,
      handle: context.handle,
      sessionId: formatSessionId({ pid, nonce }),
      stream,
      channel: {
        write: (data, options) => stdin.write(data, options),
        closeStdin: (options) => stdin.closeStdin(options),
        taken: () => feed.taken(),
        stop: async () => feed.stop(),
      },
      stdin: request.stdin,
      tty: false,
    });
  } finally {
    deadline[Symbol.dispose]();
  }
}
