import type { Exit } from '#libs/contract/core';

/** Which output; a terminal has one, `stdout`. */
export type OutputStream = 'stdout' | 'stderr';

export interface ProcessSpec {
  readonly cmd: string;
  readonly args: readonly string[];
  /** On this machine. */
  readonly directory: string;
  /** All of it: nothing is inherited. */
  readonly env: NodeJS.ProcessEnv;
  /** Where `cmd` is looked for. @default its own PATH */
  readonly searchPath?: string;
  /** Without a terminal: whether stdin is a pipe. It is /dev/null otherwise. @default false */
  readonly stdin?: boolean;
  /** Without a terminal: one pipe for both outputs. @default false */
  readonly stderrToStdout?: boolean;
  /** Runs it on a terminal of this size. */
  readonly terminal?: { readonly cols: number; readonly rows: number };
}

export interface ProcessEvents {
  /** The bytes are the receiver's to keep. */
  output(stream: OutputStream, bytes: Buffer): void;
  /** The leader was reaped; output may follow. */
  exited?(exit: Exit): void;
  /** Once, after all output: at its end, or when background processes keep the pipes, after some silence. */
  ended(exit: Exit): void;
}

/** A process that leads a group of its own. */
export interface EmulatedProcess {
  readonly pid: number;
  /** How the leader ended, once it was reaped. */
  readonly exit: Exit | undefined;
  /** Resolves when the leader was reaped. */
  readonly leaderExit: Promise<void>;
  /** Resolves when the process took the bytes, or cannot any more. */
  write(data: Uint8Array): Promise<void>;
  /** EOF. On a terminal nothing. */
  closeStdin(): Promise<void>;
  /** Stops reading its output, so that it blocks. Its end is always read. */
  pause(): void;
  resume(): void;
  /** Only on a terminal. */
  resize(cols: number, rows: number): void;
  /** Signals its group. */
  signal(signal: NodeJS.Signals): void;
  /** Ends its group and whatever carries its marker, with KILL after `graceMs`. @returns whether nothing is left */
  stop(how: { readonly signal?: NodeJS.Signals; readonly graceMs: number }): Promise<boolean>;
}
