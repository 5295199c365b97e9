import { processTable, signalProcess, type ProcessEntry } from '#libs/process';

/** How often is looked whether processes are gone. */
const LOOK_MS = 20;

/** How long a KILL may take. */
const KILL_MS = 5_000;

/** Which of the processes of the machine are meant. */
type Mine = (entry: ProcessEntry, table: readonly ProcessEntry[]) => boolean;

/** Resolves once none of the processes runs, after `ms`, or when the emulator closes. @returns whether they are gone */
export async function gone(mine: Mine, ms: number, closing: AbortSignal): Promise<boolean> {
  const until = performance.now() + ms;
  while ((await running(mine)).length > 0) {
    if (performance.now() >= until || closing.aborted) return false;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return true;
}

/**
 * Ends a process, what is below it and what is in its group, with KILL after `graceMs`. What left the tree because its
 * parent ended, and the group, lives on.
 */
export async function endTree(pid: number, graceMs: number, closing: AbortSignal): Promise<void> {
  const known = new Set<string>();
  const member = treeOf(pid, known);
  for (const entry of await running(member)) signalProcess(entry.pid, 'SIGTERM');
  if (await gone(member, graceMs, closing)) return;
  for (const entry of await running(member)) signalProcess(entry.pid, 'SIGKILL');
  await gone(member, KILL_MS, closing);
}

/** Who was once seen in the tree belongs to it for good. */
function treeOf(pid: number, known: Set<string>): Mine {
  return (entry, table) => {
    const key = `${entry.pid} ${entry.startTime}`;
    if (!known.has(key) && (entry.group === pid || descends(entry, pid, table))) known.add(key);
    return known.has(key);
  };
}

function descends(entry: ProcessEntry, pid: number, table: readonly ProcessEntry[]): boolean {
  const parents = new Map(table.map(({ pid: of, parent }) => [of, parent]));
  for (let at: number | undefined = entry.pid; at !== undefined && at > 1; at = parents.get(at)) {
    if (at === pid) return true;
  }
  return false;
}

async function running(mine: Mine): Promise<ProcessEntry[]> {
  const table = await processTable();
  return table.filter((entry) => mine(entry, table) && !entry.zombie);
}
