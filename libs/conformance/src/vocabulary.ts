/** A command line. */
export interface Words {
  readonly cmd: string;
  readonly args: readonly string[];
}

/** What `print` writes and how it ends. Text is written as UTF-8. */
export interface Printing {
  readonly stdout?: Uint8Array | string;
  readonly stderr?: Uint8Array | string;
  /** @default 0 */
  readonly exitCode?: number;
}

/** A file that `family` and `background` wait for, and the one that they make then. Relative to the working directory. */
export interface Errand {
  readonly trigger: string;
  readonly mark: string;
  /** TERM ends neither the family nor its child. Of `family` alone. @default false */
  readonly deaf?: boolean;
}

/**
 * What the suite has done inside a sandbox, one command each: a shell for machines, code for a fake. Every command
 * writes exactly what its docblock says.
 */
export interface Vocabulary {
  /** Writes to each stream what is given for it, stdout first, and ends. */
  print(what: Printing): Words;
  /** Writes each of its arguments, followed by a NUL byte. */
  echoArguments(...args: string[]): Words;
  /** Writes `NAME=value` and a NUL byte for each of the variables that is set. */
  echoVariables(...names: string[]): Words;
  /** Writes the path of its working directory and a line feed. */
  echoDirectory(): Words;
  /** Copies stdin to a stream, piece by piece, until EOF. */
  copyStdin(to: 'stdout' | 'stderr'): Words;
  /** Reads stdin to its end, then writes the number of bytes in decimal and a line feed. */
  countStdin(): Words;
  /**
   * Does what the lines of its stdin say, one after the other, and ends with 0 at EOF: `out:<octal>` and `err:<octal>`
   * write bytes given as `\0ooo` each (see {@link puppetLine}), `exit:<code>` ends it.
   */
  puppet(): Words;
  /** Writes `0123456789abcdef` and a line feed over and over, `bytes` bytes in all, then ends. */
  lines(bytes: number): Words;
  /** Writes `bytes` times an `x`, no line feed, then ends. */
  longLine(bytes: number): Words;
  /** Writes the numbers from 1 to `last`, each with a line feed and by a write of its own; even ones to stderr if `both`. */
  count(last: number, both?: boolean): Words;
  /** Writes {@link Vocabulary.lines} without an end. */
  flood(): Words;
  /** Writes `ready` and a line feed, then stays until it is stopped. Never reads stdin. */
  stay(): Words;
  /** Closes its stdin unread, writes `ready` and a line feed, then stays until it is stopped. */
  closeInput(): Words;
  /** As `stay`, deaf to TERM. */
  stayThroughTerm(): Words;
  /** Dies of the signal, without a word. */
  dieOf(signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGSEGV' | 'SIGHUP'): Words;
  /** No program. */
  missing(): Words;
  /** Runs the file at `path`, relative to the working directory. */
  runFile(path: string): Words;
  /** Writes the content of a file. Ends with another code than 0 if there is none. */
  showFile(path: string): Words;
  /** Writes the permissions of a file in octal, such as `644`, and a line feed. */
  showMode(path: string): Words;
  /** Ends with 0 if there is something at `path`, else with 1. */
  exists(path: string): Words;
  /** Makes a symbolic link at `path`. */
  link(target: string, path: string): Words;
  /** Makes an empty file. */
  touch(path: string): Words;
  /** Makes a directory. Ends with another code than 0 if there is something at `path`. */
  makeDirectory(path: string): Words;
  /** Ends with 0 after so many milliseconds. */
  pause(ms: number): Words;
  /** Writes `ready` and a line feed, and stays for good; a child of its group makes `mark` once `trigger` is there. */
  family(errand: Errand): Words;
  /**
   * Writes `ready` and a line feed and ends with 0, leaving a child that holds its output open, writes to it now and
   * then, and makes `mark` once `trigger` is there.
   */
  background(errand: Errand): Words;
  /**
   * For a terminal: writes its size as `<rows> <cols>` and a line feed, once at the start and again for each line that
   * it reads, without echoing it. Ends at EOF.
   */
  showTerminalSize?(): Words;
  /** Writes the value of a variable, whatever its name, and a line feed. Ends with another code than 0 if it is not set. */
  showVariable?(name: string): Words;
  /** Makes a file at `begun`, writes `ready` and a line feed, and stays; at TERM it makes `mark` and ends with 0. */
  tidyUp?(files: { readonly begun: string; readonly mark: string }): Words;
}

/** Words that a subject may do without. */
export type OptionalWord = 'showTerminalSize' | 'showVariable' | 'tidyUp';

/** One line for the puppet, with its line feed. */
export function puppetLine(
  what: { out: Uint8Array | string } | { err: Uint8Array | string } | { exit: number },
): string {
  if ('exit' in what) return `exit:${what.exit}\n`;
  const [verb, data] = 'out' in what ? (['out', what.out] as const) : (['err', what.err] as const);
  const octal = Array.from(Buffer.from(data), (byte) => `\\0${byte.toString(8).padStart(3, '0')}`);
  return `${verb}:${octal.join('')}\n`;
}

/** The line that `lines` repeats. */
export const PATTERN_LINE = '0123456789abcdef\n';
