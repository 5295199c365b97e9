import type { Keeper } from '#libs/process';
import { CLOSE, DaemonConnection, type Clock, type Socket } from '#libs/protocol';
import { exec } from './exec-request.js';
import { Execs } from './execs.js';
import { Feeds } from './feeds.js';
import { dispatch } from './handlers.js';
import type { LinkLimits } from './limits.js';
import type { Log } from './log.js';
import { sandboxRequests } from './sandbox-requests.js';
import { sessionRequests } from './session-requests.js';
import type { Sessions } from './sessions.js';
import type { Tails } from './tails.js';
import { Turns } from './turns.js';

export interface LinkContext {
  readonly keeper: Keeper;
  readonly tails: Tails;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly limits: LinkLimits;
  readonly log: Log;
}

/** One socket to the platform and everything that lives as long as it does. Made before the first frame is read. */
export class Link {
  readonly connection: DaemonConnection;
  readonly feeds: Feeds;

  constructor(socket: Socket, { keeper, tails, sessions, clock, limits, log }: LinkContext) {
    this.connection = new DaemonConnection(socket, (request) => handle(request), {
      clock,
      log: (line) => log.warn(line),
    });
    const { signal } = this.connection;
    this.feeds = new Feeds({ keeper, tails, outlet: this.connection, limits });
    const turns = new Turns(this.connection, limits.execReplies);
    const execs = new Execs(keeper, log);
    const handle = dispatch({
      ...sandboxRequests(keeper, this.feeds),
      ...sessionRequests({ keeper, feeds: this.feeds, sessions, signal }),
      exec: (body, requestId) => exec(body, requestId, { keeper, tails, turns, execs, signal, limits, log }),
      cancel: async ({ request }) => {
        await execs.cancel(request);
        return { result: {} };
      },
    });
    signal.addEventListener('abort', () => {
      execs.killAll();
      sessions.linkLost();
    });
  }

  /** Says goodbye; what is still queued goes out first. */
  close(): void {
    this.connection.close(CLOSE.goingAway, 'the daemon stops');
  }
}
