/** How a process ended. Measured, never assumed: nobody fills in a 0. */
export interface Exit {
  /** 0–255; 128+n for death by signal n; 127 not found and 126 not executable together with `startError`. */
  readonly exitCode: number;
  /** The signal that ended it, where the provider knows; never derived from `exitCode`. */
  readonly signal?: NodeJS.Signals;
  /** Why it did not start, where the provider can tell. */
  readonly startError?: string;
}

/** Bytes that a command wrote. */
export interface OutputFrame {
  readonly type: 'stdout' | 'stderr';
  /** As they were written, and as they stay: no later frame is written over them. */
  readonly data: Uint8Array;
  /** Bytes of that stream before this frame. */
  readonly offset: number;
}

/** The last frame of a command. */
export type ExitFrame = { readonly type: 'exit' } & Exit;

/** One item of a command's output. Order is kept within a stream, not between the two. */
export type SandboxFrame = OutputFrame | ExitFrame;

/** A position in both output streams, in bytes from their beginnings. */
export interface StreamOffsets {
  readonly stdout: number;
  readonly stderr: number;
}

/** The result of `exec`: a non-zero exit is a result, not an error. */
export interface ExecResult extends Exit {
  /** stdout, or both streams as the process wrote them with `stderrToStdout`. */
  readonly output: Uint8Array;
  /** `undefined`: the provider did not give it apart. */
  readonly stderr?: Uint8Array;
  /** `output` decoded as UTF-8, malformed bytes as U+FFFD. */
  text(): string;
}

/** Size of a terminal in character cells. */
export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}
