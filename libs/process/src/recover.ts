import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isProcessIdentity, stillExists, type ProcessIdentity } from './process-identity.js';
import { removeTree } from './remove-tree.js';
import type { Root } from './root.js';
import { PROCESS_RECORD } from './start-session.js';
import { stopProcesses } from './stop-processes.js';

/** Milliseconds between TERM and KILL for what an earlier daemon left running. */
const GRACE_MS = 1_000;

/** Sessions whose keeper ended without them, by their sandboxes: nobody measured how they ended. */
export type LostSessions = Map<string, ReadonlySet<string>>;

/** What an earlier daemon of a root left. */
export interface Recovered {
  readonly lost: LostSessions;
  /** Whether none of its processes is left. Otherwise their records are what the next daemon finds them by. */
  readonly ended: boolean;
}

/**
 * Ends what an earlier daemon of this root left behind: its processes are killed, so their sessions, journals and
 * pipes are removed. What cannot be ended keeps its record for the next daemon. To be called by the holder of the
 * root's lock, before it starts anything.
 */
export async function recoverRoot(root: Root, log: (message: string) => void): Promise<Recovered> {
  const lost = await sessionsLeft(root);
  const leaders = new Set((await recordedProcesses(root, lost)).filter(stillExists).map(({ pid }) => pid));
  const prefix = `${root.path}/`;
  const ended = await stopProcesses(
    {
      groups: [],
      marked: ({ pid, group, directoryMarker }) =>
        leaders.has(pid) || leaders.has(group) || (directoryMarker?.startsWith(prefix) ?? false),
    },
    { graceMs: GRACE_MS },
  );
  if (!ended) log('processes of an earlier daemon could not be ended');
  for (const directory of ended ? [root.sessions, root.tmp, root.trash] : [root.tmp, root.trash]) {
    for (const entry of await readdir(directory)) {
      await removeTree(join(directory, entry)).catch(() => log(`something could not be removed from ${directory}`));
    }
  }
  return { lost, ended };
}

async function sessionsLeft(root: Root): Promise<LostSessions> {
  const left: LostSessions = new Map();
  for (const sandbox of await readdir(root.sessions)) {
    left.set(sandbox, new Set(await readdir(join(root.sessions, sandbox)).catch(() => [])));
  }
  return left;
}

async function recordedProcesses(root: Root, left: LostSessions): Promise<ProcessIdentity[]> {
  const records: ProcessIdentity[] = [];
  for (const [sandbox, sessions] of left) {
    for (const session of sessions) {
      const record = await readRecord(join(root.sessions, sandbox, session, PROCESS_RECORD));
      if (isProcessIdentity(record)) records.push(record);
    }
  }
  return records;
}

async function readRecord(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
}
