import { StreamingCommand, type StreamingCommandInit } from '#libs/contract';
import type { InSandbox } from './daytona.context.js';
import type { StartedCommand } from './daytona.start-command.js';
import type { JournalStdin } from './daytona.stdin.js';

/** What reads a command without a terminal, and writes to it: both through its journal. */
export function commandOf(
  { handle }: InSandbox,
  { stream, feed }: Pick<StartedCommand, 'stream' | 'feed'>,
  input: JournalStdin,
  more: Pick<StreamingCommandInit, 'operation' | 'sessionId' | 'stdin'>,
): StreamingCommand {
  return new StreamingCommand({
    ...more,
    provider: handle.provider,
    handle,
    stream,
    channel: {
      write: (data, options) => input.write(data, options),
      closeStdin: (options) => input.closeStdin(options),
      taken: () => feed.taken(),
      stop: async () => feed.stop(),
    },
    tty: false,
  });
}
