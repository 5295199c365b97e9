import type { Bytes, FileStat, TerminalSize } from '#libs/contract';

/**
 * A command as code, for what words cannot say. Resolves with its exit code, 0–255. What it throws, or resolves with
 * instead of an exit code, is its end too: the message on stderr, and exit 1.
 *
 * A program whose process is over goes no further: what it awaits of the process stays open for good. What it holds
 * beside that, such as timers of its own, it gives up when {@link FakeProcess.ended} fires.
 */
export type FakeProgram = (process: FakeProcess) => number | Promise<number>;

/** A running command as its {@link FakeProgram} sees it. */
export interface FakeProcess {
  readonly cmd: string;
  readonly args: readonly string[];
  /** What the caller set, on top of HOME, PATH, PWD and, on a terminal, TERM. */
  readonly env: Readonly<Record<string, string>>;
  /** Working directory, absolute. */
  readonly dir: string;
  /** Whether it runs on a terminal: one that neither echoes nor translates, and all of whose output is stdout. */
  readonly tty: boolean;
  /** Of its terminal at the moment; `undefined` without one. */
  readonly size: TerminalSize | undefined;
  readonly files: FakeProcessFiles;
  /** Whether stdin was opened. */
  readonly hasStdin: boolean;
  /**
   * What the caller writes, piece by piece; it waits at `FakeLimits.pipeBytes` until it is read. Ends at EOF, and at
   * once where stdin was not opened. A loop that is left early leaves the rest to the next loop. On a terminal byte 4
   * ends one loop, and byte 3 is the signal INT.
   */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Reads no more while it lives: what is written to it is `write_failed`. */
  readonly closeStdin: () => void;
  /**
   * Resolves when there is room: readers have taken enough of what was written before. What is written before the end
   * is delivered before it, awaited or not, in the order of the calls. Beyond the end it goes nowhere.
   */
  readonly write: (stream: 'stdout' | 'stderr', data: Bytes) => Promise<void>;
  /** Ends the process behind what was written. */
  readonly exit: (code: number) => void;
  /** Ends the command as `exit` does, while the program goes on, as a background child of it would. */
  readonly daemonize: (code: number) => void;
  /** Closes the transport with no exit: the stream ends `unavailable` / `closed_before_exit`. */
  readonly drop: () => void;
  /** Takes a signal instead of dying of it. KILL cannot be taken. What the handler throws ends the process. */
  readonly onSignal: (signal: NodeJS.Signals, handler: () => void | Promise<void>) => void;
  /** Sends itself a signal: without a handler for it, it dies of it. */
  readonly raise: (signal: NodeJS.Signals) => void;
  /** Called with each new size of the terminal. */
  readonly onResize: (handler: (size: TerminalSize) => void) => void;
  /** Fires when the process is over, by itself or killed, for its own sake or with its sandbox. */
  readonly ended: AbortSignal;
  /** On the clock of the fake. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Whether the network policy allows that very host: any, until a policy was applied. */
  readonly reaches: (host: string) => boolean;
}

/**
 * The files of a sandbox as a program sees them. Relative paths begin in its working directory, `~` is the home.
 * Whatever cannot be done throws a `SandboxError`.
 */
export interface FakeProcessFiles {
  /** A copy. */
  read(path: string): Buffer;
  /** Makes parents. @param mode default 0o644 for a new file, an existing one keeps its own */
  write(path: string, data: Bytes, mode?: number): void;
  /** Names, in order. @param path default the working directory */
  list(path?: string): string[];
  /** Of the path itself: a symlink is not followed. */
  stat(path: string): FileStat;
  /** With parents; one that is there is left as it is. */
  makeDirectory(path: string): void;
  /** @param target need not exist; a relative one begins where the link lies */
  symlink(target: string, path: string): void;
  /** A file, a symlink, or a directory with all that is in it. */
  remove(path: string): void;
}
