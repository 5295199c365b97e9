import type { IncomingMessage } from 'node:http';
import type { RunnerHost } from './runner-host.js';

/** A dial that is let in. */
export interface AuthenticatedRunner {
  /** The runner's UUID. */
  readonly runnerId: string;
  /** For logs and error messages. */
  readonly name: string;
  /** Handed to {@link RunnerHost} and back by `online()`, unread. */
  readonly meta?: unknown;
  /**
   * A host for this connection alone, instead of the module's; a second adapter over that host serves it.
   *
   * @default the module's
   */
  readonly host?: RunnerHost;
}

/**
 * A dial that is turned away with an HTTP status, before the upgrade. A daemon stops at 400, 401, 403 and 404, and comes
 * back after 409 and 503.
 */
export interface RunnerRefusal {
  readonly refuse: 400 | 401 | 403 | 404 | 409 | 503;
  /** One short sentence for the owner of the machine: the body of the response. */
  readonly reason: string;
}

/** Decides who may dial in; also its own injection token. */
export abstract class RunnerAuthenticator {
  /**
   * Called once per dial, before the WebSocket exists; nothing that the peer sent after its request has been read.
   * A rejection, or no answer within 30 s, refuses with 503.
   *
   * @param request the upgrade request, with the daemon's description of itself in the query
   * @param bearer the token of `Authorization: Bearer …`, if there is one
   */
  abstract authenticate(
    request: IncomingMessage,
    bearer: string | undefined,
  ): Promise<AuthenticatedRunner | RunnerRefusal>;
}
