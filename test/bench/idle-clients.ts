import { once } from 'node:events';
import { WebSocket } from 'ws';
import { DIAL_PATH } from '#libs/protocol';
import type { Runner } from './platform.js';

const DIALS_AT_ONCE = 50;

/** Sockets that do what an idle daemon does: dial in as one, and answer pings. */
export class IdleClients {
  private readonly sockets: WebSocket[] = [];

  /** Resolves once all are open. */
  async dial(url: string, runners: readonly Runner[]): Promise<void> {
    const waiting = [...runners];
    const dialler = async (): Promise<void> => {
      for (let runner = waiting.pop(); runner !== undefined; runner = waiting.pop()) await this.open(url, runner);
    };
    await Promise.all(Array.from({ length: DIALS_AT_ONCE }, dialler));
  }

  /** Resolves once all are closed. */
  async close(): Promise<void> {
    const sockets = this.sockets.splice(0);
    await Promise.all(
      sockets.map(async (socket) => {
        if (socket.readyState === WebSocket.CLOSED) return;
        const closed = once(socket, 'close');
        socket.terminate();
        await closed;
      }),
    );
  }

  private async open(url: string, { id, token }: Runner): Promise<void> {
    const target = new URL(DIAL_PATH, url.replace('http', 'ws'));
    const query = {
      name: 'idle',
      hostname: 'idle',
      os: 'linux',
      arch: 'x64',
      version: '0.1.0',
      root: '/',
      instance: id,
    };
    target.search = new URLSearchParams(query).toString();
    const socket = new WebSocket(target, {
      headers: { Authorization: `Bearer ${token}` },
      perMessageDeflate: false,
    });
    this.sockets.push(socket);
    await once(socket, 'open');
    socket.on('error', () => {});
  }
}
