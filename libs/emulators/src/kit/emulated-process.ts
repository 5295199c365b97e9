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
  /**
   * Without a terminal: whether it leads a session and a group of its own, as `setsid` would have it. Without, it shares
   * the group of this process, and only its sandbox's marker and its parents tell where its children belong.
   *
   * @default true
   */
  readonly ownGroup?: boolean;
  /**
   * Without a terminal: when its output is at its end. `silence`: at the end of both pipes, or some time after the exit
   * when background processes keep them; `eof`: only at their end, unless `hurry` is called.
   *
   * @default 'silence'
   */
  readonly outputEnd?: 'silence' | 'eof';
  /** Runs it on a terminal of this size. */
  readonly terminal?: { readonly cols: number; readonly rows: number };
}

export interface ProcessEvents {
  /** The bytes are the receiver's to keep. */
  output(stream: OutputStream, bytes: Buffer): void;
  /** The leader was reaped; output may follow. */
  exited?(exit: Exit): void;
  /** Once, after all output; see `ProcessSpec.outputEnd`. */
  ended(exit: Exit): void;
}

/** A process of a sandbox. */
export interface EmulatedProcess {
  readonly pid: number;
  /** How the leader ended, once it was reaped. */
  readonly exit: Exit | undefined;
  /** Resolves when the leader was reaped. */
  readonly leaderExit: Promise<void>;
  /** Resolves when the process took the bytes, or cannot any more. */
  write(data: Uint8Array): Promise<void>;
  /** The same. @returns whether its stdin took the bytes */
  tryWrite(data: Uint8Array): Promise<boolean>;
  /** EOF. On a terminal nothing. */
  closeStdin(): Promise<void>;
  /** Stops reading its output, so that it blocks. Its end is always read. */
  pause(): void;
  resume(): void;
  /** Only on a terminal. */
  resize(cols: number, rows: number): void;
  /** Signals its group. */
  signal(signal: NodeJS.Signals): void;
  /** Signals the leader alone. @returns whether it was there */
  signalLeader(signal: NodeJS.Signals): boolean;
  /** From here on its output ends as with `silence`. */
  hurry(): void;
  /** Ends its group and whatever carries its marker, with KILL after `graceMs`. @returns whether nothing is left */
  stop(how: { readonly signal?: NodeJS.Signals; readonly graceMs: number }): Promise<boolean>;
}
