import type { IncomingMessage, Server } from 'node:http';
import { Inject, Injectable, Logger, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { WebSocketGateway, type OnGatewayConnection, type OnGatewayInit } from '@nestjs/websockets';
import {
  CLOSE,
  PROTOCOL_LIMITS,
  RunnerConnection,
  bindSocket,
  type ProtocolLimits,
  type WebSocketLike,
} from '#libs/protocol';
import { dialQuery } from './dial-query.js';
import { refuseLateUpgrades } from './late-upgrades.js';
import { RunnerAuthenticator } from './runner-authenticator.js';
import { RunnerHost } from './runner-host.js';
import { loadOf, type RunnerGatewayStats, type RunnerStatsSource } from './runner-stats.js';
import { RunnerSettings } from './runner.settings.js';
import { RUNNER_LIMITS } from './runner.tokens.js';
import { UpgradeGuard, type UpgradeAnswer } from './upgrade-guard.js';

/** How long shutdown waits for a host to take a closed connection off. */
const REGISTRY_WITHIN_MS = 5_000;

/** What the gateway uses of the server of `ws`. */
export interface UpgradeServer {
  handleUpgrade: unknown;
  readonly options: { verifyClient?: (info: { req: IncomingMessage }, answer: UpgradeAnswer) => void };
  once(event: 'close', listener: () => void): unknown;
}

/**
 * Where daemons dial in: authenticates before the upgrade, hands each raw socket to a connection, and drains them at
 * shutdown. Everything else is the connection's.
 */
@Injectable()
export class RunnerGateway
  implements OnGatewayInit, OnModuleInit, OnGatewayConnection, BeforeApplicationShutdown, RunnerStatsSource
{
  readonly #log = new Logger(RunnerGateway.name);
  readonly #guard: UpgradeGuard;
  readonly #connections = new Set<RunnerConnection>();
  #registrations = 0;
  #isForeign = false;
  #draining: Promise<void> | undefined;

  constructor(
    private readonly host: RunnerHost,
    authenticator: RunnerAuthenticator,
    private readonly settings: RunnerSettings,
    @Inject(RUNNER_LIMITS) private readonly limits: ProtocolLimits,
    private readonly http: HttpAdapterHost,
  ) {
    this.#guard = new UpgradeGuard(authenticator, settings.maxPendingAuthentications);
  }

  /** `ws` reads this option at each upgrade, so that an injected authenticator can stand in front of it. */
  afterInit(server: UpgradeServer): void {
    this.#isForeign = typeof server.handleUpgrade !== 'function';
    if (this.#isForeign) return;
    server.options.verifyClient = (info, answer) => this.#guard.verify(info.req, answer);
    server.once('close', () => refuseLateUpgrades(this.http.httpAdapter.getHttpServer() as Server));
  }

  /** @throws {Error} when the application's WebSocket adapter is for another protocol, such as that of socket.io */
  onModuleInit(): void {
    if (!this.#isForeign) return;
    throw new Error(
      'RunnerModule: runners need an adapter for plain WebSockets: call ' +
        'app.useWebSocketAdapter(new RunnerWsAdapter(app)) before app.listen(), or use the WsAdapter of @nestjs/platform-ws',
    );
  }

  /** Synchronous up to the listeners: a frame that follows the handshake at once would be lost otherwise. */
  handleConnection(client: WebSocketLike, request: IncomingMessage): void {
    const runner = this.#guard.admitted(request);
    if (runner === undefined || this.#draining !== undefined) {
      client.close(CLOSE.goingAway, 'going away');
      return;
    }
    const { instance } = dialQuery(request);
    let connection: RunnerConnection | undefined;
    bindSocket(client, request.socket, (socket) => {
      connection = new RunnerConnection(socket, {
        runnerId: runner.runnerId,
        name: runner.name,
        ...(instance !== undefined && { instance }),
        meta: runner.meta,
        registry: runner.host ?? this.host,
        limits: this.limits,
        heartbeatIntervalMs: this.settings.heartbeatIntervalMs,
        onRegistered: () => {
          this.#registrations++;
          this.#log.log(`${runner.runnerId}: online as ${JSON.stringify(runner.name)}`);
          void connection?.ended.then(({ code }) => this.#log.log(`${runner.runnerId}: disconnected with ${code}`));
        },
        log: (line) => this.#log.log(`${runner.runnerId}: ${line}`),
      });
      return connection;
    });
    if (connection !== undefined) this.#track(connection);
  }

  stats(): RunnerGatewayStats {
    return {
      connections: this.#connections.size,
      pendingAuthentications: this.#guard.pending,
      refused: this.#guard.refused,
      registrations: this.#registrations,
      ...loadOf(this.#connections),
      draining: this.#draining !== undefined,
    };
  }

  /**
   * Refuses new dials with 503, gives pending calls `drainMs`, then closes every connection with 1001. Resolves when
   * all are gone: a peer that does not answer is cut off. Idempotent; Nest calls it at shutdown.
   */
  beforeApplicationShutdown(): Promise<void> {
    return (this.#draining ??= this.#drain());
  }

  async #drain(): Promise<void> {
    this.#guard.drain();
    const { pendingRequests } = this.stats();
    if (pendingRequests > 0) {
      this.#log.log(`Shutting down: pending calls, ${pendingRequests}, get up to ${this.settings.drainMs} ms`);
    }
    await Promise.all(Array.from(this.#connections, (connection) => this.#drainOne(connection)));
  }

  async #drainOne(connection: RunnerConnection): Promise<void> {
    await connection.drain(this.settings.drainMs);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, REGISTRY_WITHIN_MS);
    });
    await Promise.race([connection.settled, late]);
    clearTimeout(timer);
  }

  #track(connection: RunnerConnection): void {
    this.#connections.add(connection);
    void connection.ended.then(() => this.#connections.delete(connection));
    connection.start();
  }
}

/** The gateway for one `forRoot`: the path is metadata of a class, and two apps in one process may differ in it. */
export function runnerGatewayAt(path: string): typeof RunnerGateway {
  @WebSocketGateway({
    path,
    maxPayload: PROTOCOL_LIMITS.maxFrameBytes,
    perMessageDeflate: false,
    // Without it `ws` accepts whatever sub-protocol is offered first.
    handleProtocols: () => false,
  })
  class RunnerGatewayAtPath extends RunnerGateway {}
  return RunnerGatewayAtPath;
}
