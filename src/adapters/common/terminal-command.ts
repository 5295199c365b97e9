import { StreamingCommand, type SandboxHandle, type TerminalSize } from '#libs/contract';
import type { TerminalOutput } from './terminal-output.js';

/** The way to a process on a terminal. */
export interface Terminal {
  write(data: Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  resize(size: TerminalSize): Promise<void>;
  /** Lets go of it. Any number of times. */
  close(): void;
}

/** A command on a terminal. Its output is pushed: nobody is told that it was taken. */
export function terminalCommand(
  handle: SandboxHandle,
  operation: 'spawn' | 'attach',
  sessionId: string,
  { stream }: TerminalOutput,
  process: Terminal,
  stdin: boolean,
): StreamingCommand {
  return new StreamingCommand({
    provider: handle.provider,
    operation,
    handle,
    sessionId,
    stream,
    channel: {
      taken: () => {},
      write: (data) => process.write(data),
      closeStdin: () => process.closeStdin(),
      resize: (size) => process.resize(size),
      stop: async () => process.close(),
    },
    stdin,
    tty: true,
  });
}
