import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A fixed address whose connections go to a platform that can be exchanged, as behind a load balancer. */
export class Switchboard {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Port of the platform that serves the next connections; undefined refuses them. */
  target: number | undefined;

  private constructor() {
    this.#server = createServer((near) => this.#accept(near));
  }

  static async listen(): Promise<Switchboard> {
    const board = new Switchboard();
    await new Promise<void>((resolve) => board.#server.listen(0, '127.0.0.1', resolve));
    return board;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends every connection as an idle proxy does: orderly towards TCP, without a word of WebSocket. */
  hangUp(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.hangUp();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(near: Socket): void {
    if (this.target === undefined) {
      near.destroy();
      return;
    }
    const far = connect(this.target, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }
}
