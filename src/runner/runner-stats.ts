import type { RunnerConnectionStats } from '#libs/protocol';

/** Counts of a gateway, for health pages, metrics and leak tests. */
export interface RunnerGatewayStats {
  /** Open sockets, registered or not. */
  readonly connections: number;
  readonly pendingAuthentications: number;
  /** Dials refused with an HTTP status since the start. */
  readonly refused: number;
  /** Connections entered in the registry since the start: a runner that comes back counts again. */
  readonly registrations: number;
  /** Requests to daemons without a reply. */
  readonly pendingRequests: number;
  /** Requests that wait for room on a socket. */
  readonly unsentRequests: number;
  /** Sessions that are followed. */
  readonly sessions: number;
  /** Bytes of output that were delivered and not taken, of all connections together. */
  readonly queuedBytes: number;
  /** The same of the connection that has most. */
  readonly maxQueuedBytes: number;
  readonly draining: boolean;
}

/** Whatever has the counts of a gateway; all that health and metrics know of one. */
export interface RunnerStatsSource {
  /** Safe at any time. */
  stats(): RunnerGatewayStats;
}

type Load = Pick<
  RunnerGatewayStats,
  'pendingRequests' | 'unsentRequests' | 'sessions' | 'queuedBytes' | 'maxQueuedBytes'
>;

/** What connections have to do, together. */
export function loadOf(connections: Iterable<{ stats(): RunnerConnectionStats }>): Load {
  const load = { pendingRequests: 0, unsentRequests: 0, sessions: 0, queuedBytes: 0, maxQueuedBytes: 0 };
  for (const connection of connections) {
    const { pending, unsent, sessions, queuedBytes } = connection.stats();
    load.pendingRequests += pending;
    load.unsentRequests += unsent;
    load.sessions += sessions;
    load.queuedBytes += queuedBytes;
    load.maxQueuedBytes = Math.max(load.maxQueuedBytes, queuedBytes);
  }
  return load;
}
