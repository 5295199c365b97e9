import type { EnvPair } from '#libs/contract';
import { assignments, quote } from './shell-quote.js';
import { COMMON, EMIT, EMIT_TEXT } from './shim-common.js';
import { PROBE, READ, RECORD_KILL } from './shim-read.js';
import { RUN } from './shim-run.js';

/** How many ended sessions keep their journal in a sandbox: of detachable ones, and of all others. */
const KEPT_SESSIONS = { detachable: 100, other: 20 } as const;

/** A command for the shim to run. */
export interface ShimCommand {
  readonly nonce: string;
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env: readonly EnvPair[];
  /** `undefined`: the home directory. */
  readonly dir?: string;
  /** Otherwise it reads /dev/null. */
  readonly stdin: boolean;
  readonly detachable: boolean;
  /** stderr into stdout, in the order in which both are written. */
  readonly stderrToStdout?: boolean;
  /**
   * stdin is a pipe of a Linux, and nobody but the command is to read it: whoever writes learns when the command closes
   * it.
   */
  readonly soleReader?: boolean;
  /** stdin goes through a pump: records `i` say how much of it the pipe of the command took. @default false */
  readonly acknowledged?: boolean;
  /** Nobody attaches to it: its journal goes with it. */
  readonly once?: boolean;
  /** How many ended sessions of its kind keep their journal. @default see `KEPT_SESSIONS` */
  readonly keep?: number;
}

/** Where to read from, how far without being asked. */
export interface ReadFrom {
  readonly stdout: number | 'now';
  readonly stderr: number | 'now';
  /** Pieces of up to 1 MiB that are printed before a line on stdin is waited for. */
  readonly credits: number;
  /** Nobody reads what the shim itself prints any more. */
  readonly takeOver: boolean;
}

/** For a reader whose output has to be text, and which has to come to an end; see `readText`. */
export interface TextReadFrom extends ReadFrom {
  /** Seconds that it waits for output; without any it looks once. `undefined`: as long as the session runs. */
  readonly holdSeconds?: number;
}

/**
 * A program for `sh` that runs a command under the shim. stdout carries records, see `JournalParser`. stdin is the
 * command's. Begins with its variables, so that nothing of the command is parsed again.
 */
export function shimProgram(command: ShimCommand): string {
  return `sb_tty=\n${runVariables(command)}${COMMON}${EMIT}${RUN}`;
}

/** As {@link shimProgram} on a terminal whose settings before it was made raw are in `$sb_tty`: nothing is kept. */
export function shimTerminalProgram(command: ShimCommand): string {
  return `${runVariables(command)}${COMMON}${RUN}`;
}

/** A program for `sh` that prints a session's journal. Its stdin gives credit, one line a piece. */
export function readProgram(nonce: string, from: ReadFrom): string {
  return `${readVariables(nonce, from)}${COMMON}${EMIT}${READ}`;
}

/** As {@link readProgram} for ways that carry lines of text only. */
export function readTextProgram(nonce: string, from: TextReadFrom): string {
  return `${readVariables(nonce, from)}${COMMON}${EMIT_TEXT}${READ}`;
}

/** A program for `sh` that says how a session stands. */
export function probeProgram(nonce: string): string {
  return `${assignments({ sb_id: nonce })}${COMMON}${PROBE}`;
}

/** A program for `sh` that records the exit of a session whose process group was killed. */
export function recordKillProgram(nonce: string): string {
  return `${assignments({ sb_id: nonce })}${COMMON}${RECORD_KILL}`;
}

function readVariables(nonce: string, { stdout, stderr, credits, takeOver, holdSeconds }: TextReadFrom): string {
  return assignments({
    sb_id: nonce,
    sb_from_o: stdout,
    sb_from_e: stderr,
    sb_credits: credits,
    sb_take: takeOver ? 1 : '',
    sb_hold: holdSeconds ?? '',
  });
}

function runVariables(command: ShimCommand): string {
  const { nonce, cmd, env, dir, stdin, detachable, stderrToStdout = false, soleReader = false, once = false } = command;
  const { acknowledged = false } = command;
  const path = env.findLast(([name]) => name === 'PATH')?.[1] ?? '';
  const variables = assignments({
    sb_id: nonce,
    sb_kind: detachable ? 'sessions' : 'runs',
    sb_keep: command.keep ?? (detachable ? KEPT_SESSIONS.detachable : KEPT_SESSIONS.other),
    sb_dir: directory(dir),
    sb_cmd: cmd,
    sb_path: path,
    sb_in: stdin ? 1 : '',
    sb_merge: stderrToStdout ? 1 : '',
    sb_sole: soleReader ? 1 : '',
    sb_ack: acknowledged && stdin ? 1 : '',
    sb_rm: once ? 1 : '',
    sb_hold: '',
  });
  return `${variables}set -- ${argv(command).map(quote).join(' ')}\n`;
}

/** From the home directory. `cd` takes `-`, and names on CDPATH, for something else. */
function directory(dir: string | undefined): string {
  if (dir === undefined || dir === '~') return '.';
  if (dir.startsWith('/')) return dir;
  return `./${dir.startsWith('~/') ? dir.slice(2) : dir}`;
}

/**
 * Variables are set by `env`, since a shell cannot export every name, and on top of what the provider gives. What
 * begins with a dash or holds a `=` would be taken for its own argument.
 */
function argv({ cmd, args, env }: ShimCommand): string[] {
  const pairs = env.map(([name, value]) => `${name}=${value}`);
  const own = cmd.includes('=') ? ['sh', '-c', 'exec "$@"', 'sh', cmd, ...args] : [cmd, ...args];
  return pairs.length === 0 && !cmd.startsWith('-') && !cmd.includes('=') ? own : ['env', '--', ...pairs, ...own];
}
