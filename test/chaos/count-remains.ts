import { setTimeout as sleep } from 'node:timers/promises';
import { HUNG_MS, SETTLE_MS } from './bounds.js';
import type { Counter, Tally } from './counters.js';
import type { Daemon } from './daemon.js';
import type { Ledger } from './ledger.js';
import type { DaemonCounts } from './messages.js';
import { SLEEP } from './programs.js';
import type { Platform } from './platform.js';
import { leftInRoot, listed, sessionProcesses, sockets } from './remains.js';
import { beyond } from './resources.js';

/** Of a connection without a request: for pings, silence and heartbeats. */
const IDLE_TIMERS = 3;

export interface Stage {
  /** Of the whole run. */
  readonly directory: string;
  /** The temporary directory of every process. */
  readonly temporary: string;
  readonly platform: Platform;
  readonly daemons: readonly Daemon[];
  readonly ledger: Ledger;
}

/**
 * Destroys every sandbox, ends both sides in their own ways, and counts at each step what is left that should not be.
 * `baseline`: what a daemon counts that has done nothing yet.
 */
export async function countRemains(stage: Stage, baseline: DaemonCounts): Promise<void> {
  const { directory, temporary, platform, daemons } = stage;
  const { tally } = stage.ledger;
  // Only an exec starts it, and an exec ends with its link.
  await counted(tally, 'leakedProcesses', () => sessionProcesses(directory, SLEEP));
  const cleared = await platform.ask({ type: 'clear' }, 'cleared', 2 * HUNG_MS).catch(() => undefined);
  if (!cleared) tally.add('hungPromises', 'the sandboxes were not destroyed in time');
  for (const name of cleared?.left ?? []) tally.add('leakedDirectories', `sandbox ${name} is listed after destroy`);

  await counted(tally, 'leakedSessions', () => gatewayLeft(stage));
  await counted(tally, 'leakedTimers', async () => {
    const { connections } = await platform.ask({ type: 'count' }, 'counted', HUNG_MS);
    const timers = connections.map((connection) => connection.timers).filter((count) => count > IDLE_TIMERS);
    return timers.map((count) => `a connection with ${count} timers`);
  });
  await counted(tally, 'leakedListeners', async () => {
    const { listeners } = await platform.ask({ type: 'count' }, 'counted', HUNG_MS);
    return Array.from({ length: listeners }, () => 'a listener of the abort signal of all calls');
  });
  for (const daemon of daemons) await countDaemon(tally, daemon, baseline);
  await counted(tally, 'leakedProcesses', () => sessionProcesses(directory));

  for (const daemon of daemons) daemon.setup.proxy.target = undefined;
  await Promise.all(daemons.map((daemon) => daemon.stop()));
  for (const { setup } of daemons) await counted(tally, 'leakedDirectories', () => leftInRoot(setup.root, true));
  const closed = await platform.close();
  for (const kind of closed.resources) tally.add(counterOf(kind), `${kind} in the platform`);
  for (const warning of closed.warnings) tally.add('leakedListeners', warning);
  await Promise.all(daemons.map(({ setup }) => setup.proxy.close()));
  await counted(tally, 'leakedSockets', () => sockets(platform.ports));
  await counted(tally, 'leakedDirectories', () => listed(temporary));
}

/** What the gateway counts beside one idle connection for each daemon. */
async function gatewayLeft({ platform, daemons }: Stage): Promise<string[]> {
  const { stats, connections: each } = await platform.ask({ type: 'count' }, 'counted', HUNG_MS);
  const { connections, pendingAuthentications, pendingRequests, unsentRequests, sessions, queuedBytes } = stats;
  const counts = { pendingAuthentications, pendingRequests, unsentRequests, sessions, queuedBytes };
  if (each.length !== daemons.length) return [`connections that the host has: ${each.length}`];
  const subscribers = each.reduce((sum, connection) => sum + connection.subscribers, 0);
  const left = Object.entries({ ...counts, subscribers }).map(([name, count]) => `${name} of the gateway: ${count}`);
  if (connections !== daemons.length) left.push(`connections of the gateway: ${connections}`);
  return left.filter((text) => !text.endsWith(' 0'));
}

async function countDaemon(tally: Tally, daemon: Daemon, baseline: DaemonCounts): Promise<void> {
  const { index, root } = daemon.setup;
  await counted(tally, 'leakedSessions', async () => {
    const { running, sessions } = await daemon.counts();
    return running + sessions === 0 ? [] : [`daemon ${index}: ${running} running, ${sessions} sessions`];
  });
  await counted(tally, 'leakedDirectories', () => leftInRoot(root, false));
  for (const counter of ['leakedTimers', 'leakedSockets'] as const) {
    await counted(tally, counter, async () => {
      const { resources } = await daemon.counts();
      const left = beyond(baseline.resources, resources).filter((kind) => counterOf(kind) === counter);
      return left.map((kind) => `${kind} in daemon ${index}`);
    });
  }
}

/** Looks until nothing is left or the time for that is over. */
async function counted(tally: Tally, counter: Counter, look: () => Promise<readonly string[]>): Promise<void> {
  for (const until = Date.now() + SETTLE_MS; ;) {
    const left = await look();
    if (left.length > 0 && Date.now() < until) {
      await sleep(100);
      continue;
    }
    for (const what of left) tally.add(counter, what);
    return;
  }
}

function counterOf(resource: string): 'leakedTimers' | 'leakedSockets' {
  return resource === 'Timeout' || resource === 'Immediate' ? 'leakedTimers' : 'leakedSockets';
}
