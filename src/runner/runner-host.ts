import type { RunnerLink, RunnerRegistry } from '#libs/protocol';

/**
 * Where connections of runners are entered and found, one per runner id; also its own injection token. The gateway's
 * connections call everything but `whereis` and `online`, which are the adapter's.
 *
 * A host only compares and sets: who takes over from whom is decided by the connection. In the life of one connection
 * the calls come in this order: `register`, on `ok` `presence('online')`, `heartbeat` every 20 s while the socket is
 * up, first after one interval, `unregister` when the socket has closed, and, if it was still the registered one,
 * `presence('offline')`. A connection that was replaced announces no offline; the one that replaced it announces
 * online. A `register` that rejects closes the socket with 1013 and the daemon comes back; rejections of `heartbeat`
 * and `presence` are logged and counted, and change nothing.
 */
export abstract class RunnerHost implements RunnerRegistry {
  /**
   * Enters `link` under `runnerId` unless another one is there. `meta` is opaque: what the authenticator gave, to be
   * handed back by `online`.
   */
  abstract register(runnerId: string, link: RunnerLink, meta: unknown): Promise<'ok' | 'already_registered'>;

  /** Removes `link`, only if that very link is the registered one; whether it was. */
  abstract unregister(runnerId: string, link: RunnerLink): Promise<boolean>;

  /** The registered link, from any node. */
  abstract whereis(runnerId: string): Promise<RunnerLink | undefined>;

  /** Every registered runner with the `meta` it was registered with. */
  abstract online(): Promise<readonly (readonly [runnerId: string, meta: unknown])[]>;

  /** The socket of `link` is still up: renews a lease where there is one. */
  abstract heartbeat(runnerId: string, link: RunnerLink): Promise<void>;

  /** Announces a change, after the registry already tells the truth. Serialised per runner id. */
  abstract presence(runnerId: string, state: 'online' | 'offline', meta: unknown): Promise<void>;
}
