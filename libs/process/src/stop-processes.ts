import { ProcessGroup, signalProcess } from './process-group.js';
import { processTable, type ProcessEntry } from './process-table.js';

/** Which processes are meant: members of the groups, whatever carries a marker, and descendants of both. */
export interface StopScope {
  readonly groups: readonly ProcessGroup[];
  /** By what a process carries in its environment: children may have left their group with setsid. */
  marked(process: ProcessEntry): boolean;
}

export interface StopHow {
  /** @default 'SIGTERM' */
  readonly signal?: NodeJS.Signals;
  /** Milliseconds between the signal and KILL. */
  readonly graceMs: number;
}

/** Start times of processes that were in scope once: when its parent ends, nothing else may tell of one. */
type Known = Map<number, string>;

/** Milliseconds that processes have to be gone after KILL. */
const KILL_WAIT_MS = 2_000;
/** More are only needed for what forks faster than it is looked at. */
const MAX_FREEZE_ROUNDS = 10;
const FIRST_LOOK_MS = 5;
const LONGEST_LOOK_MS = 100;

/**
 * Signals, waits, kills, and looks until nothing is left.
 *
 * @returns whether no process in scope is left: leaders reaped, and nothing but zombies in the process table
 * @throws {SandboxError} `unavailable`: it cannot be told, though the groups were killed
 */
export async function stopProcesses(scope: StopScope, { signal = 'SIGTERM', graceMs }: StopHow): Promise<boolean> {
  const known: Known = new Map();
  if (signal !== 'SIGKILL' && graceMs > 0) {
    try {
      if (await ask(scope, known, signal, graceMs)) return true;
    } catch (error) {
      for (const group of scope.groups) group.signal('SIGKILL');
      throw error;
    }
  }
  // What cannot be looked at, or was stopped half way, is killed all the same.
  await freeze(scope, known).catch(() => {});
  return await gone(scope, known, 'SIGKILL', KILL_WAIT_MS);
}

/** @returns whether nothing is left within the grace */
async function ask(scope: StopScope, known: Known, signal: NodeJS.Signals, graceMs: number): Promise<boolean> {
  const first = await survivors(scope, known).catch(async (error: unknown) => {
    // Who cannot be seen can still be asked to end.
    signalAll(scope, [], signal);
    await pause(graceMs, runningOf(scope));
    throw error;
  });
  signalAll(scope, first, signal);
  return await gone(scope, known, signal, graceMs, new Set(first.map(({ pid }) => pid)));
}

/** A killed parent takes the only trace of a child that it has just forked with it, a stopped one forks no more. */
async function freeze(scope: StopScope, known: Known): Promise<void> {
  const frozen = new Set<number>();
  for (let round = 0; round < MAX_FREEZE_ROUNDS; round += 1) {
    const fresh = (await survivors(scope, known)).filter(({ pid }) => !frozen.has(pid));
    if (fresh.length === 0) return;
    for (const { pid } of fresh) {
      signalProcess(pid, 'SIGSTOP');
      frozen.add(pid);
    }
  }
}

/** Looks until nothing is left or the time is up. What appears meanwhile gets the signal too. */
async function gone(
  scope: StopScope,
  known: Known,
  signal: NodeJS.Signals,
  withinMs: number,
  signalled = new Set<number>(),
): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(LONGEST_LOOK_MS, lookMs * 2)) {
    if (signal === 'SIGKILL') for (const group of scope.groups) group.signal(signal);
    const running = runningOf(scope);
    // As long as a leader may still end by itself there is nothing to prove.
    if (running.length === 0 || signal === 'SIGKILL') {
      const left = await survivors(scope, known);
      if (left.length === 0 && scope.groups.every((group) => !group.leaderRunning)) return true;
      for (const { pid } of left) if (!signalled.has(pid)) signalProcess(pid, signal);
      if (signal !== 'SIGKILL') for (const { pid } of left) signalled.add(pid);
    }
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return false;
    await pause(Math.min(lookMs, leftMs), running);
  }
}

function runningOf(scope: StopScope): ProcessGroup[] {
  return scope.groups.filter((group) => group.leaderRunning);
}

function signalAll(scope: StopScope, left: readonly ProcessEntry[], signal: NodeJS.Signals): void {
  const groups = new Set(scope.groups.map((group) => group.id));
  // A stopped process acts on the signal only once it runs again.
  for (const sent of [signal, 'SIGCONT'] as const) {
    for (const group of scope.groups) group.signal(sent);
    for (const { pid, group } of left) if (!groups.has(group)) signalProcess(pid, sent);
  }
}

async function survivors(scope: StopScope, known: Known): Promise<ProcessEntry[]> {
  const table = await processTable();
  for (const group of scope.groups) group.look();
  const groups = new Set(scope.groups.filter((group) => !group.empty).map((group) => group.id));
  const found = new Set<number>();
  for (const entry of table) {
    const member = groups.has(entry.group) || groups.has(entry.session) || scope.marked(entry);
    if (member || known.get(entry.pid) === entry.startTime) found.add(entry.pid);
  }
  addDescendants(found, table);
  found.delete(process.pid);
  const left = table.filter((entry) => found.has(entry.pid) && !entry.zombie);
  for (const { pid, startTime } of left) known.set(pid, startTime);
  return left;
}

/** A child may have left the group and cleared its environment, but while its parent lives it is known by that. */
function addDescendants(found: Set<number>, table: readonly ProcessEntry[]): void {
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const entry of table) if (found.has(entry.parent)) found.add(entry.pid);
  }
}

/** Ends early when all the leaders that run are reaped, which is most often all there is to wait for. */
async function pause(ms: number, running: readonly ProcessGroup[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const waited = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  const exits = running.length > 0 ? [Promise.all(running.map(async (group) => await group.leaderExit))] : [];
  await Promise.race([waited, ...exits]);
  clearTimeout(timer);
}
