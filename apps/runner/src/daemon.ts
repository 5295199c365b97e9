import type { WebSocket } from 'ws';
import type { Keeper } from '#libs/process';
import { bindSocket, systemClock, type Clock } from '#libs/protocol';
import { dial, type DialTarget } from './dial.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { LINK_LIMITS, type LinkLimits } from './limits.js';
import { Link } from './link.js';
import type { Log } from './log.js';
import { Reconnect } from './reconnect.js';
import { Sessions } from './sessions.js';
import { Tails } from './tails.js';
import { verdict } from './verdict.js';

export interface DaemonContext {
  /** Closed by the daemon when it ends. */
  readonly keeper: Keeper;
  readonly log: Log;
  /** @default systemClock */
  readonly clock?: Clock;
  /** @default Math.random */
  readonly random?: () => number;
  readonly limits?: Partial<LinkLimits>;
}

/** Node's longest timer: nothing else keeps the process alive while it waits to dial again. */
const FOREVER_MS = 2 ** 31 - 1;

/** Keeps one link to the platform, dialling again as often as needed, and serves the keeper over it. */
export class Daemon {
  private readonly stopping = new AbortController();
  private readonly clock: Clock;
  private readonly limits: LinkLimits;
  private readonly reconnect: Reconnect;
  private readonly tails: Tails;
  private readonly sessions: Sessions;
  private current: { readonly ws: WebSocket; readonly link: Link } | undefined;

  constructor(
    private readonly target: DialTarget,
    private readonly context: DaemonContext,
  ) {
    const { keeper, log } = context;
    this.clock = context.clock ?? systemClock;
    this.limits = { ...LINK_LIMITS, ...context.limits };
    this.reconnect = new Reconnect(this.clock, context.random);
    this.tails = new Tails(keeper);
    this.sessions = new Sessions({ keeper, clock: this.clock, log, ...this.limits });
  }

  /** Resolves when everything has ended, with the exit code; rejects only when the keeper cannot be closed. */
  async run(): Promise<ExitCode> {
    const alive = setInterval(() => {}, FOREVER_MS);
    try {
      const code = await this.keepLinked();
      await this.context.keeper.close();
      return code;
    } finally {
      this.sessions.close();
      this.tails.close();
      clearInterval(alive);
    }
  }

  /** Ends dialling, says goodbye to the platform, then stops what runs. Idempotent. */
  stop(): void {
    this.stopping.abort();
    const { current } = this;
    if (!current) return;
    current.link.close();
    this.clock.after(this.limits.closeMs, () => current.ws.terminate());
  }

  /** Kills what runs, without grace. */
  async kill(): Promise<void> {
    this.current?.ws.terminate();
    await this.sessions.killAll();
  }

  /** One socket after the other, until stopped or refused for good. */
  private async keepLinked(): Promise<ExitCode> {
    const { target } = this;
    const { log } = this.context;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      log.debug('dialling', { url: target.url });
      const end = await dial(target, (ws, transport) => this.opened(ws, transport), signal);
      this.current = undefined;
      if (signal.aborted) break;
      const { permanent, message } = verdict(end, target.url);
      if (permanent) {
        log.error(message);
        return EXIT.refused;
      }
      const delayMs = this.reconnect.nextDelayMs();
      log.warn(message, { retry_in_ms: delayMs });
      await this.pause(delayMs);
    }
    return EXIT.ok;
  }

  private opened(ws: WebSocket, transport: { readonly bytesRead: number }): void {
    const { tails, sessions, clock, limits } = this;
    const { keeper, log } = this.context;
    this.reconnect.opened();
    log.info('connected', { url: this.target.url });
    bindSocket(ws, transport, (socket) => {
      const link = new Link(socket, { keeper, tails, sessions, clock, limits, log });
      this.current = { ws, link };
      return link.connection;
    });
  }

  /** Until `ms` have passed or the daemon is told to stop. */
  private pause(ms: number): Promise<void> {
    const { signal } = this.stopping;
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.clock.after(ms, done);
      signal.addEventListener('abort', done);
    });
  }
}
