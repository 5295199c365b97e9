import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { closeSync, existsSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { SandboxError, type Exit } from '#libs/contract/core';
import { errnoOf, invalidArgument, systemError } from './errors.js';
import { openFifo, openStdin, type OpenFifo } from './fifo-pool.js';
import { notExecutable, notFound } from './find-program.js';
import { StdinPipe } from './stdin-pipe.js';
import { directoryIdentity, noSuchDirectory } from './working-directory.js';

export interface ChildSpec {
  /** The file to execute, under the name `cmd`. */
  readonly program: string;
  readonly cmd: string;
  readonly args: readonly string[];
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /** Name of the FIFO for stdin. Without one the process reads /dev/null. */
  readonly stdin?: string | undefined;
  /** Names of one FIFO per output stream: one when stderr goes to stdout. */
  readonly fifos: readonly string[];
  /** Whether it leads a session and a group of its own. Without, it shares the group of this process. @default true */
  readonly ownGroup?: boolean;
}

/** A process that runs, with our ends of its stdio. */
export interface Child {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly stdin?: StdinPipe;
  readonly stdout: number;
  readonly stderr?: number;
}

/**
 * Starts a program. One that cannot be started is a result, `{ failed }`; whatever happens, no descriptor is left.
 *
 * @throws {SandboxError} `invalid` / `argument`, `argument_list_too_long`, `no_such_directory`; `unavailable`
 */
export async function startChild(spec: ChildSpec): Promise<Child | { readonly failed: Exit }> {
  const pipes: OpenFifo[] = [];
  let stdin: OpenFifo | undefined;
  let started = false;
  try {
    if (spec.stdin !== undefined) stdin = openStdin(spec.stdin);
    for (const fifo of spec.fifos) pipes.push(openFifo(fifo));
    const [stdout, stderr] = [pipes[0]!, pipes[1]];
    const directory = directoryIdentity(spec.directory);
    const child = spawnChild(spec, [stdin?.readEnd ?? 'ignore', stdout.writeEnd, (stderr ?? stdout).writeEnd]);
    if (child.pid === undefined) return await startFailure(child, spec, directory);
    started = true;
    return {
      process: child,
      pid: child.pid,
      ...(stdin && { stdin: new StdinPipe(stdin.writeEnd, spec.stdin!) }),
      stdout: stdout.readEnd,
      ...(stderr && { stderr: stderr.readEnd }),
    };
  } catch (error) {
    throw systemError('unavailable', 'the process could not be started', error, 'none');
  } finally {
    if (stdin) closeSync(stdin.readEnd);
    if (stdin && !started) closeSync(stdin.writeEnd);
    if (spec.stdin !== undefined && !started) rmSync(spec.stdin, { force: true });
    for (const { writeEnd, readEnd } of pipes) {
      closeSync(writeEnd);
      if (!started) closeSync(readEnd);
    }
  }
}

/**
 * How the leader ended, as Node reports it. One limit is known: Node gives death by a real-time signal (34 to 64) as an
 * exit with code 0 and no signal, and nothing else it hands out tells the two apart.
 */
export function exitOf(code: number | null, signal: NodeJS.Signals | null): Exit {
  return signal === null ? { exitCode: code! } : { exitCode: 128 + constants.signals[signal], signal };
}

function spawnChild(spec: ChildSpec, stdio: StdioOptions): ChildProcess {
  try {
    return spawn(spec.program, spec.args, {
      argv0: spec.cmd,
      cwd: spec.directory,
      env: spec.env,
      stdio,
      // Makes it the leader of a session and a group, so that all of it can be signalled.
      detached: spec.ownGroup ?? true,
    });
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'E2BIG') {
      throw new SandboxError('invalid', {
        detail: 'argument_list_too_long',
        message: 'arguments and environment are together too long for this system',
      });
    }
    if (errno === 'ERR_INVALID_ARG_VALUE') throw invalidArgument('an argument holds NUL');
    throw error;
  }
}

/**
 * Node reports an ENOENT of the directory, the program and its interpreter alike, by an `error` event and no exit. The
 * directory is to blame unless the very one that was there before the start is still there.
 */
async function startFailure(
  child: ChildProcess,
  spec: ChildSpec,
  directory: string | undefined,
): Promise<{ readonly failed: Exit }> {
  const error = await new Promise<Error>((resolve) => child.once('error', resolve));
  const errno = errnoOf(error);
  if (errno === 'ENOENT') {
    if (directory === undefined || directoryIdentity(spec.directory) !== directory) throw noSuchDirectory();
    return { failed: notFound(spec.cmd, existsSync(spec.program) ? 'its interpreter was not found' : undefined) };
  }
  if (errno === 'EACCES') return { failed: notExecutable(spec.cmd, 'permission denied') };
  throw error;
}
