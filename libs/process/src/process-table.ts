import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { errnoOf, systemError } from './errors.js';
import { statFields } from './process-identity.js';

const run = promisify(execFile);

/** The environment variable that carries the id of the session a process belongs to. */
export const SESSION_MARKER = 'SANDBOX_SESSION';
/** The environment variable that carries the directory of the sandbox a process belongs to. */
export const DIRECTORY_MARKER = 'SANDBOX_DIRECTORY';

export interface ProcessEntry {
  readonly pid: number;
  /** Opaque; with the pid it tells a process from a later one. */
  readonly startTime: string;
  readonly parent: number;
  readonly group: number;
  /** The session in the sense of setsid(2). */
  readonly session: number;
  /** Dead and waiting to be reaped: it runs nothing. */
  readonly zombie: boolean;
  /** Value of {@link SESSION_MARKER}, where its environment can be read. */
  readonly sessionMarker?: string;
  /** Value of {@link DIRECTORY_MARKER}, where its environment can be read. */
  readonly directoryMarker?: string;
}

/** What says nothing about the process that was to be read. */
const EXHAUSTED: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

/** Pids looked at in one turn of the event loop, about 2 ms of it. */
const SLICE = 64;

/**
 * Every process of the machine. A process that starts or ends meanwhile may be in it or not.
 *
 * @throws {SandboxError} `unavailable`: no process may be taken for ended because it could not be looked at
 */
export async function processTable(): Promise<ProcessEntry[]> {
  try {
    return process.platform === 'linux' ? await linuxTable() : await psTable();
  } catch (error) {
    throw systemError('unavailable', 'the processes of the machine could not be looked at', error);
  }
}

async function linuxTable(): Promise<ProcessEntry[]> {
  const pids = readdirSync('/proc').map(Number).filter(Number.isSafeInteger);
  const entries: ProcessEntry[] = [];
  for (let at = 0; at < pids.length; at += SLICE) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve));
    for (const pid of pids.slice(at, at + SLICE)) {
      const entry = linuxEntry(pid);
      if (entry) entries.push(entry);
    }
  }
  return entries;
}

function linuxEntry(pid: number): ProcessEntry | undefined {
  const stat = readOf(pid, 'stat');
  if (stat === undefined) return undefined;
  const fields = statFields(stat);
  const [state, parent, group, session] = fields;
  // A leader whose main thread has ended looks like a zombie while its other threads run.
  const zombie = state === 'X' || (state === 'Z' && Number(fields[17]) <= 1);
  const known = {
    pid,
    startTime: fields[19] ?? '',
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    zombie,
  };
  return { ...known, ...markers(readOf(pid, 'environ') ?? '', '\0') };
}

/** `undefined`: it has ended meanwhile, or is another user's. */
function readOf(pid: number, file: 'stat' | 'environ'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    if (EXHAUSTED.has(errnoOf(error))) throw error;
    return undefined;
  }
}

function markers(environ: string, separator: string): Pick<ProcessEntry, 'sessionMarker' | 'directoryMarker'> {
  const sessionMarker = markerIn(environ, SESSION_MARKER, separator);
  const directoryMarker = markerIn(environ, DIRECTORY_MARKER, separator);
  return {
    ...(sessionMarker !== undefined && { sessionMarker }),
    ...(directoryMarker !== undefined && { directoryMarker }),
  };
}

function markerIn(environ: string, name: string, separator: string): string | undefined {
  const key = `${separator}${name}=`;
  const found = `${separator}${environ}`.indexOf(key);
  if (found === -1) return undefined;
  const begin = found + key.length - separator.length;
  const end = environ.indexOf(separator, begin);
  return environ.slice(begin, end === -1 ? undefined : end);
}

/** macOS: `ps -E` appends the environment to the command, separated by spaces. */
async function psTable(): Promise<ProcessEntry[]> {
  const { stdout } = await run('ps', ['-A', '-E', '-ww', '-o', 'pid=,ppid=,pgid=,state=,lstart=,command='], {
    maxBuffer: 256 * 1024 * 1024,
  });
  const entries: ProcessEntry[] = [];
  for (const line of stdout.split('\n')) {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+((?:\S+\s+){4}\d+)\s+(.*)$/.exec(line);
    if (!match) continue;
    const [pid, parent, group] = [Number(match[1]), Number(match[2]), Number(match[3])];
    // The session is not shown there, so no process is found by it.
    const [state, startTime, command] = [match[4]!, match[5]!, match[6]!];
    entries.push({
      pid,
      parent,
      group,
      session: 0,
      startTime,
      zombie: state.startsWith('Z'),
      ...markers(command, ' '),
    });
  }
  return entries;
}
