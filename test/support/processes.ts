import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { promisify } from 'node:util';
import { until } from './until.js';

const run = promisify(execFile);

/** Something to `sleep` that no other process on this machine has on its command line. */
export function sleepMarker(): string {
  return `3600.${randomInt(1e8, 1e9)}`;
}

/** The processes, zombies left out, that have `marker` on their command line. */
export function processesWith(marker: string): Promise<number[]> {
  return search(marker, ['-axww']);
}

/** The processes, zombies left out, that have `root` in their environment or on their command line. */
export function processesOf(root: string): Promise<number[]> {
  return search(root, process.platform === 'darwin' ? ['-axwwE'] : ['axwwe']);
}

async function search(text: string, options: readonly string[]): Promise<number[]> {
  const { stdout } = await run('ps', [...options, '-o', 'pid=,stat=,command='], { maxBuffer: 64 * 1024 * 1024 });
  return stdout
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line))
    .flatMap((match) => (match && match[3]?.includes(text) && !match[2]?.startsWith('Z') ? [Number(match[1])] : []));
}

/** The children of `parent` that have ended and were not reaped. */
export async function zombiesOf(parent: number): Promise<number[]> {
  const { stdout } = await run('ps', ['-ax', '-o', 'pid=,ppid=,stat=']);
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([pid, ppid, stat]) => (Number(ppid) === parent && stat?.startsWith('Z') ? [Number(pid)] : []));
}

/** Bytes of memory that `pid` has resident. */
export async function residentBytes(pid: number): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout) * 1024;
}

/** Resolves once no process has `marker` on its command line. */
export async function allGone(marker: string, withinMs = 20_000): Promise<void> {
  await until(`no process has ${marker} on its command line`, async () => (await processesWith(marker)).length === 0, {
    withinMs,
    everyMs: 50,
  });
}

/** Resolves with the processes once at least `count` have `marker` on their command line. */
export async function appeared(marker: string, count = 1): Promise<number[]> {
  return until(`${count} processes have ${marker} on their command line`, async () => {
    const pids = await processesWith(marker);
    return pids.length >= count ? pids : undefined;
  });
}
