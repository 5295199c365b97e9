import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A pid alone is recycled; with its start time and the boot it belongs to one process for ever. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot on Linux, a date on macOS. Opaque: only compared. */
  readonly startTime: string;
  readonly bootId: string;
}

let boot: string | undefined;

export function bootId(): string {
  boot ??=
    process.platform === 'linux'
      ? readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
      : execFileSync('sysctl', ['-n', 'kern.boottime'], { encoding: 'latin1' }).trim();
  return boot;
}

/**
 * The identity of a process that exists, `undefined` when there is none under `pid`. Throws what kept it from looking:
 * to take that for an end would give a root, or a pid, to two.
 */
export function identify(pid: number): ProcessIdentity | undefined {
  try {
    const startTime =
      process.platform === 'linux'
        ? statFields(readFileSync(`/proc/${pid}/stat`, 'latin1'))[19]
        : execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'latin1' }).trim();
    return startTime ? { pid, startTime, bootId: bootId() } : undefined;
  } catch (error) {
    if (saysGone(error)) return undefined;
    throw error;
  }
}

/** `ps` exits with 1 for a pid that is none. */
function saysGone(error: unknown): boolean {
  const { code, status } = error as { readonly code?: unknown; readonly status?: unknown };
  return code === 'ENOENT' || code === 'ESRCH' || status === 1;
}

/** The same without blocking, where it takes a process to find out. */
export async function identifyLater(pid: number): Promise<ProcessIdentity | undefined> {
  if (process.platform === 'linux') return identify(pid);
  const { stdout } = await run('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'latin1' });
  const startTime = stdout.trim();
  return startTime ? { pid, startTime, bootId: bootId() } : undefined;
}

/** Whether the recorded process, and not a later one with its pid, still exists. */
export function stillExists(recorded: ProcessIdentity): boolean {
  if (recorded.bootId !== bootId()) return false;
  return identify(recorded.pid)?.startTime === recorded.startTime;
}

/**
 * Whether the recorded process still does anything. A zombie does not, and there may be one for ever: a container
 * without an init reaps nobody's children.
 */
export function stillRuns(recorded: ProcessIdentity): boolean {
  return stillExists(recorded) && !isZombie(recorded.pid);
}

function isZombie(pid: number): boolean {
  try {
    if (process.platform !== 'linux') {
      return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'latin1' })
        .trim()
        .startsWith('Z');
    }
    const fields = statFields(readFileSync(`/proc/${pid}/stat`, 'latin1'));
    // A leader whose main thread has ended looks like a zombie while its other threads run.
    return fields[0] === 'X' || (fields[0] === 'Z' && Number(fields[17]) <= 1);
  } catch (error) {
    if (saysGone(error)) return true;
    throw error;
  }
}

/** Checks a record that was read from a file. */
export function isProcessIdentity(value: unknown): value is ProcessIdentity {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, startTime, bootId: recordedBoot } = value as Record<string, unknown>;
  return (
    Number.isSafeInteger(pid) &&
    (pid as number) > 0 &&
    typeof startTime === 'string' &&
    typeof recordedBoot === 'string'
  );
}

/** The fields of `/proc/<pid>/stat` from the state on: the name before them may hold spaces and parentheses. */
export function statFields(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
