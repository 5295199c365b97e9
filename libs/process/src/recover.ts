import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isProcessIdentity, stillExists, type ProcessIdentity } from './process-identity.js';
import { removeTree } from './remove-tree.js';
import type { Root } from './root.js';
import { PROCESS_RECORD } from './start-session.js';
import { stopProcesses } from './stop-processes.js';

/** Milliseconds between TERM and KILL for what an earlier daemon left running. */
const GRACE_MS = 1_000;

/**
 * Ends what an earlier daemon of this root left behind: its processes are killed, so their sessions, journals and
 * pipes are removed. To be called by the holder of the root's lock, before it starts anything.
 */
export async function recoverRoot(root: Root, log: (message: string) => void): Promise<void> {
  const leaders = new Set((await recordedProcesses(root)).filter(stillExists).map(({ pid }) => pid));
  const prefix = `${root.path}/`;
  const gone = await stopProcesses(
    {
      groups: [],
      marked: ({ pid, group, directoryMarker }) =>
        leaders.has(pid) || leaders.has(group) || (directoryMarker?.startsWith(prefix) ?? false),
    },
    { graceMs: GRACE_MS },
  );
  if (!gone) log('processes of an earlier daemon could not be ended');
  for (const directory of [root.sessions, root.tmp, root.trash]) {
    for (const entry of await readdir(directory)) {
      await removeTree(join(directory, entry)).catch(() => log(`something could not be removed from ${directory}`));
    }
  }
}

async function recordedProcesses(root: Root): Promise<ProcessIdentity[]> {
  const records: ProcessIdentity[] = [];
  for (const sandbox of await readdir(root.sessions)) {
    for (const session of await readdir(join(root.sessions, sandbox)).catch(() => [])) {
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
