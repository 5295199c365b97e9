import { posix } from 'node:path';
import type { Exit } from '#libs/contract';
import type { FakeProcessFiles, FakeProgram } from './fake-program.js';
import { parseScript } from './instruction.js';
import { wordsProgram } from './words-program.js';

/** Gives the words that a command is played from. */
export type FakeScript = (cmd: string, args: readonly string[]) => readonly string[];

/** What commands there are. */
export interface FakeCommands {
  readonly programs: Readonly<Record<string, FakeProgram>>;
  readonly script: FakeScript;
}

/** What runs, or how a command ends because nothing can, and its arguments. */
export interface FoundProgram {
  readonly start: FakeProgram | Exit;
  readonly args: readonly string[];
}

/** A program by its name; a file of the sandbox by a path to it, then the program that its path ends with; or words. */
export function findProgram(
  cmd: string,
  args: readonly string[],
  { programs, script }: FakeCommands,
  files: FakeProcessFiles,
): FoundProgram {
  if (Object.hasOwn(programs, cmd)) return { start: programs[cmd] as FakeProgram, args };
  const file = cmd.includes('/') ? executable(cmd, files) : undefined;
  if (typeof file === 'object') return { start: file, args };
  if (file !== undefined) {
    const interpreter = programAt(/^#!\s*(\S+)/.exec(file)?.[1], programs);
    return { start: interpreter ?? notExecutable('its first line names no program'), args: [cmd, ...args] };
  }
  const program = programAt(cmd, programs);
  if (program !== undefined) return { start: program, args };
  const words = parseScript(script(cmd, args));
  return { start: 'startError' in words ? { exitCode: 127, ...words } : wordsProgram(words), args };
}

/** `/bin/sh` is the program `sh`. */
function programAt(path: string | undefined, programs: FakeCommands['programs']): FakeProgram | undefined {
  if (!path?.startsWith('/')) return undefined;
  const name = posix.basename(path);
  return Object.hasOwn(programs, name) ? programs[name] : undefined;
}

/** The first line of a file, why it cannot be executed, or nothing where there is none. */
function executable(path: string, files: FakeProcessFiles): string | Exit | undefined {
  try {
    const { type, mode } = files.stat(path);
    if (type === 'directory') return notExecutable('is a directory');
    if ((mode & 0o111) === 0) return notExecutable('permission denied');
    return files.read(path).toString('latin1').split('\n', 1)[0];
  } catch {
    return undefined;
  }
}

function notExecutable(why: string): Exit {
  return { exitCode: 126, startError: `cannot be executed: ${why}` };
}
