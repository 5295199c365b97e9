import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gate, type Gate } from '../support/gate.js';
import { resetSocket } from '../support/reset-socket.js';

/** To the platform, or to the daemon. */
export type Direction = 'up' | 'down';

/** A TCP proxy between a daemon and the platform, which may move to another port. Order is TCP's and stays. */
export class FaultProxy {
  private readonly server: Server;
  private readonly links = new Set<Link>();
  private readonly stalls: Record<Direction, Gate | undefined> = { up: undefined, down: undefined };
  private delayMs = 0;
  private refusing = false;
  /** Where the platform listens. */
  target: number | undefined;

  private constructor() {
    this.server = createServer({ allowHalfOpen: true }, (socket) => this.accept(socket));
  }

  static async listen(): Promise<FaultProxy> {
    const proxy = new FaultProxy();
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Resets every connection once `afterBytes` more have passed either way. */
  cut(afterBytes: number): void {
    for (const link of this.links) link.cutAfter(afterBytes);
  }

  /** Ends every connection in an orderly way. */
  closeLinks(): void {
    for (const link of this.links) link.close();
  }

  /** Resets new connections until told otherwise. */
  refuse(refusing: boolean): void {
    this.refusing = refusing;
  }

  /** From here on nothing moves that way, and nobody is told, until it is released. */
  stall(direction: Direction): void {
    this.stalls[direction] ??= gate();
  }

  release(direction: Direction): void {
    this.stalls[direction]?.open();
    this.stalls[direction] = undefined;
  }

  /** Each piece waits so long before it goes on. */
  delay(ms: number): void {
    this.delayMs = ms;
  }

  heal(): void {
    this.refusing = false;
    this.delayMs = 0;
    this.release('up');
    this.release('down');
    for (const link of this.links) link.cutAfter(undefined);
  }

  async close(): Promise<void> {
    this.heal();
    this.cut(0);
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Resolves when a piece may go on. */
  async passage(direction: Direction): Promise<void> {
    if (this.delayMs > 0) await sleep(this.delayMs);
    for (let stall = this.stalls[direction]; stall; stall = this.stalls[direction]) await stall.opened;
  }

  private accept(near: Socket): void {
    if (this.refusing || this.target === undefined) {
      near.on('error', () => {});
      resetSocket(near);
      return;
    }
    const far = connect({ port: this.target, host: '127.0.0.1', allowHalfOpen: true });
    const link = new Link(this, near, far, () => this.links.delete(link));
    this.links.add(link);
  }
}

/** One connection through the proxy. Its end on one side reaches the other as any byte does. */
class Link {
  /** Bytes until both ends are reset. */
  private left: number | undefined;

  constructor(
    private readonly proxy: FaultProxy,
    private readonly near: Socket,
    private readonly far: Socket,
    closed: () => void,
  ) {
    for (const socket of [near, far]) {
      socket.on('error', () => {});
      socket.on('close', () => {
        if (near.destroyed && far.destroyed) closed();
      });
    }
    void this.forward(near, far, 'up');
    void this.forward(far, near, 'down');
  }

  cutAfter(bytes: number | undefined): void {
    this.left = bytes;
    if (bytes === 0) this.reset();
  }

  close(): void {
    this.near.destroy();
    this.far.destroy();
  }

  private reset(): void {
    resetSocket(this.near);
    resetSocket(this.far);
  }

  private async forward(from: Socket, to: Socket, direction: Direction): Promise<void> {
    let end: () => void = () => resetSocket(to);
    try {
      for await (const data of from.iterator({ destroyOnReturn: false })) {
        await this.proxy.passage(direction);
        if (!(await this.write(to, data as Buffer))) return;
      }
      end = () => void to.end();
    } catch {
      // A reset, which reaches the other side as one.
    }
    await this.proxy.passage(direction);
    if (to.destroyed) from.destroy();
    else end();
  }

  /** False once the connection is over. */
  private async write(to: Socket, data: Buffer): Promise<boolean> {
    const { left } = this;
    if (left !== undefined) this.left = left - data.byteLength;
    const piece = left === undefined ? data : data.subarray(0, left);
    if (to.destroyed) return false;
    if (!to.write(piece)) await drained(to);
    if (left === undefined || left > data.byteLength) return !to.destroyed;
    this.reset();
    return false;
  }
}

async function drained(socket: Socket): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  await Promise.race([once(socket, 'drain', { signal }), once(socket, 'close', { signal })]).catch(() => {});
  over.abort();
}
