import {
  DaemonConnection,
  RunnerConnection,
  type DaemonRequest,
  type DialQuery,
  type Handled,
  type ProtocolLimits,
  type RunnerConnectionOptions,
  type Socket,
  type SocketListener,
} from '#libs/protocol';
import { DaemonFeeds } from './daemon-feeds.js';
import { daemonRequests, type DaemonRequests } from './daemon-requests.js';
import { dial, type DialTarget } from './dial.js';
import { FakeMachine, type FakeMachineOptions } from './fake-machine.js';
import { loopback, type LoopbackSocket } from './loopback.js';
import { SilentSocket } from './silent-socket.js';

/** What a {@link FakeDaemon} is and has. */
export interface FakeDaemonOptions extends FakeMachineOptions {
  /** The runner's name for people. @default 'fake' */
  readonly name?: string;
  /**
   * Names this daemon's process. Without it the daemon is one of another make: its output has no offsets, it knows
   * nothing that was added to version 1, and every attach replays everything.
   */
  readonly instance?: string;
  /** What else it says of itself when it dials. */
  readonly meta?: Omit<DialQuery, 'name' | 'instance'>;
  /** What is given replaces its default in `PROTOCOL_LIMITS`. */
  readonly protocolLimits?: Partial<ProtocolLimits>;
}

/** What a {@link FakeDaemon.connect} needs to know; the rest comes from the daemon. */
export type ConnectOptions = Pick<RunnerConnectionOptions, 'runnerId' | 'registry' | 'limits' | 'log'> & {
  readonly meta?: unknown;
};

interface Link {
  readonly socket: SilentSocket;
  readonly connection: DaemonConnection;
}

type Handler = (body: unknown, requestId: number) => Handled | Promise<Handled>;

/**
 * A daemon whose machine is in memory, for tests of hosts and of whoever uses a runner. It speaks version 1 of the wire
 * protocol over sockets in memory or over real ones, runs the programs and words that {@link FakeAdapter} knows, and
 * keeps its sessions while no socket is there.
 *
 * ```ts
 * const daemon = new FakeDaemon({ instance: 'd-1' });
 * const link = daemon.connect({ runnerId, registry: host });       // no network: a pair of sockets in memory
 * await daemon.dial({ url: 'http://127.0.0.1:3000', token });      // or as a real one does
 * daemon.cut();                                                    // callers get runner_disconnected
 * expect(daemon.requests.map(({ op }) => op)).toEqual(['create', 'spawn']);
 * await daemon.close();
 * ```
 */
export class FakeDaemon {
  /** What it says of itself when it dials. */
  readonly query: DialQuery;
  /** Every well-formed request, in the order in which they came in, over all sockets. */
  readonly requests: DaemonRequest[] = [];
  /** Milliseconds by which replies are late, on the daemon's clock; what was asked is done at once. @default 0 */
  replyDelayMs = 0;
  /** Answers in place of the daemon, where it returns something. A rejection is a refusal. */
  onRequest: ((request: DaemonRequest) => Promise<Handled> | undefined) | undefined;

  readonly #machine: FakeMachine;
  readonly #protocolLimits: Partial<ProtocolLimits> | undefined;
  #link: Link | undefined;
  #arrived: (() => void)[] = [];

  constructor({ name = 'fake', instance, meta, protocolLimits, ...machine }: FakeDaemonOptions = {}) {
    this.query = { ...meta, name, ...(instance !== undefined && { instance }) };
    this.#machine = new FakeMachine(machine);
    this.#protocolLimits = protocolLimits;
  }

  /** Whether a socket is there. */
  get online(): boolean {
    return this.#link !== undefined;
  }

  /** The names of its sandboxes. */
  get names(): string[] {
    return this.#machine.names;
  }

  /** A copy of a file's content, if it exists. Relative paths begin in the home directory. */
  file(sandbox: string, path: string): Buffer | undefined {
    return this.#machine.find(sandbox)?.files.peek(path);
  }

  /** Serves one end of a pair of sockets in memory. */
  serve(socket: LoopbackSocket): void {
    socket.listen(this.#accept(socket));
  }

  /**
   * Connects to a registry in memory, as a gateway does for a daemon that dialled: what is returned is the platform's
   * end, registered in a later turn.
   */
  connect({ runnerId, registry, meta = this.query, limits, log }: ConnectOptions): RunnerConnection {
    const [platform, daemon] = loopback();
    const connection = new RunnerConnection(platform, {
      runnerId,
      registry,
      meta,
      name: this.query.name,
      clock: this.#machine.clock,
      ...(this.query.instance !== undefined && { instance: this.query.instance }),
      ...(limits !== undefined && { limits }),
      ...(log !== undefined && { log }),
    });
    platform.listen(connection);
    this.serve(daemon);
    connection.start();
    return connection;
  }

  /**
   * Opens a real WebSocket to a platform and serves it.
   *
   * @throws {SandboxError} `denied` with a `DialRefused` as cause: the platform answered with HTTP; `unavailable`: it
   *   did not answer
   */
  async dial(target: DialTarget): Promise<void> {
    await dial(target, this.query, (socket) => this.#accept(socket));
  }

  /** Resolves when that many requests of this kind have come in, with the last of them. */
  async seen(op: DaemonRequest['op'], count = 1): Promise<DaemonRequest> {
    for (;;) {
      const request = this.requests.filter((one) => one.op === op)[count - 1];
      if (request !== undefined) return request;
      await new Promise<void>((resolve) => this.#arrived.push(resolve));
    }
  }

  /** Sends a frame as it is, right or wrong. */
  send(frame: string): void {
    this.#link?.socket.send(frame);
  }

  /** Drops the transport. Sessions live on; commands of pending execs are killed. */
  cut(): void {
    this.#link?.socket.cut();
  }

  /** From here on this socket takes nothing, answers nothing and stays open; `cut` ends that. */
  silence(): void {
    this.#link?.socket.silence();
  }

  /** Ends every command, then the socket. Resolves when that has closed. Idempotent. */
  async close(): Promise<void> {
    this.#machine.endAll();
    const link = this.#link;
    link?.socket.cut();
    await link?.connection.ended;
  }

  /** A new socket takes the place of the one before. */
  #accept(socket: Socket): SocketListener {
    this.cut();
    const wrapped = new SilentSocket(socket);
    const connection = new DaemonConnection(wrapped, (request) => this.#handle(handlers, request), {
      clock: this.#machine.clock,
      ...(this.#protocolLimits && { limits: this.#protocolLimits }),
    });
    wrapped.listener = connection;
    const native = this.query.instance !== undefined;
    const feeds = new DaemonFeeds(connection, native);
    const handlers = daemonRequests({ machine: this.#machine, feeds, native, signal: connection.signal });
    const link = { socket: wrapped, connection };
    connection.signal.addEventListener('abort', () => {
      feeds.close();
      if (this.#link === link) this.#link = undefined;
    });
    this.#link = link;
    return wrapped;
  }

  async #handle(handlers: DaemonRequests, request: DaemonRequest): Promise<Handled> {
    this.requests.push(request);
    for (const arrived of this.#arrived.splice(0)) arrived();
    try {
      return (await this.onRequest?.(request)) ?? (await (handlers[request.op] as Handler)(request.body, request.id));
    } finally {
      if (this.replyDelayMs > 0) await this.#late(this.replyDelayMs);
    }
  }

  #late(ms: number): Promise<void> {
    return new Promise((resolve) => this.#machine.clock.after(ms, resolve));
  }
}
