import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { resetSocket } from './reset-socket.js';

/**
 * A TCP proxy on loopback that breaks links the way networks do: `cut` resets every connection, `blackHole` drops
 * bytes both ways without closing anything, `throttle` forwards slowly, `stall` not at all for a while.
 */
export class TcpProxy {
  readonly #server: Server;
  readonly #links = new Set<Link>();
  readonly #targetPort: number;
  #refusing = false;
  #bytesPerSecond = Number.POSITIVE_INFINITY;
  #stalled: Promise<void> | undefined;
  /** Of all connections and both directions together. */
  forwardedBytes = 0;

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
  }

  static async listen(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Connections that are open at this moment. */
  get links(): number {
    return this.#links.size;
  }

  /** Resets every open connection on both sides. */
  cut(): void {
    for (const link of this.#links) link.reset();
  }

  /** Swallows everything on the connections that are open; later ones work. Neither side is told. */
  blackHole(): void {
    for (const link of this.#links) link.swallow();
  }

  /** Resets new connections until told otherwise. */
  refuse(refusing: boolean): void {
    this.#refusing = refusing;
  }

  /** Holds back everything on every connection, present and to come, until the function that it gives is called. */
  stall(): () => void {
    let goOn = (): void => {};
    this.#stalled = new Promise((resolve) => (goOn = resolve));
    return () => {
      this.#stalled = undefined;
      goOn();
    };
  }

  /** Bytes per second of each direction of each later connection. */
  throttle(bytesPerSecond: number): void {
    this.#bytesPerSecond = bytesPerSecond;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(near: Socket): void {
    if (this.#refusing) {
      near.on('error', () => {});
      resetSocket(near);
      return;
    }
    const far = connect({ port: this.#targetPort, host: '127.0.0.1', allowHalfOpen: true });
    const link = new Link(near, far, {
      bytesPerSecond: this.#bytesPerSecond,
      stalled: () => this.#stalled,
      forwarded: (bytes) => (this.forwardedBytes += bytes),
      closed: () => this.#links.delete(link),
    });
    this.#links.add(link);
  }
}

/** One connection through the proxy. */
class Link {
  #swallowing = false;

  constructor(
    readonly near: Socket,
    readonly far: Socket,
    private readonly options: {
      readonly bytesPerSecond: number;
      readonly stalled: () => Promise<void> | undefined;
      readonly forwarded: (bytes: number) => void;
      readonly closed: () => void;
    },
  ) {
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('error', () => {});
      from.on('close', () => {
        if (!this.#swallowing) to.destroy();
        if (near.destroyed && far.destroyed) options.closed();
      });
      void this.#forward(from, to);
    }
  }

  reset(): void {
    resetSocket(this.near);
    resetSocket(this.far);
  }

  swallow(): void {
    this.#swallowing = true;
  }

  async #forward(from: Socket, to: Socket): Promise<void> {
    try {
      for await (const data of from.iterator({ destroyOnReturn: false })) {
        await this.options.stalled();
        if (this.#swallowing) continue;
        if (!to.write(data)) await once(to, 'drain');
        this.options.forwarded((data as Buffer).byteLength);
        await this.#pace((data as Buffer).byteLength);
      }
      if (!this.#swallowing) to.end();
    } catch {
      // A reset: both ends are closed by it.
    }
  }

  async #pace(bytes: number): Promise<void> {
    const { bytesPerSecond } = this.options;
    if (bytesPerSecond === Number.POSITIVE_INFINITY) return;
    await new Promise((resolve) => setTimeout(resolve, (bytes / bytesPerSecond) * 1_000));
  }
}
