import { StreamingCommand, type CallOptions, type SandboxHandle, type StreamingCommandInit } from '#libs/contract';
import type { JournalFeed } from './journal-feed.js';

/** The way to the stdin of a command without a terminal. */
export interface CommandInput {
  write(data: Uint8Array, options?: CallOptions): Promise<void>;
  closeStdin(options?: CallOptions): Promise<void>;
  /** Lets go of it, if that is not left to the end of the feed. */
  close?(): void;
}

/** What reads a command without a terminal, out of its journal, and writes to it. */
export function journalCommand(
  handle: SandboxHandle,
  { stream, feed }: Pick<StreamingCommandInit, 'stream'> & { readonly feed: JournalFeed },
  input: CommandInput,
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
      stop: async () => {
        feed.stop();
        input.close?.();
      },
    },
    tty: false,
  });
}
