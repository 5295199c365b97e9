import type { TerminalSize } from './frames.js';
import type { CallOptions } from './operations.js';

/** The way back to a running command, as an adapter supplies it. */
export interface CommandChannel {
  /** `bytes` of output were consumed or dropped. */
  taken(bytes: number): void;
  /** At most 256 KiB, one call at a time. Resolves when the process's pipe took the data. */
  write(data: Uint8Array, options?: CallOptions): Promise<void>;
  /** Called after everything that was written was answered. */
  closeStdin(options?: CallOptions): Promise<void>;
  /** Present where there is a terminal. */
  resize?(size: TerminalSize): Promise<void>;
  /** Lets go of the command. Called at most once, and not after its output ended. */
  stop(): Promise<void>;
}
