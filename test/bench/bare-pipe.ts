import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import type { BenchmarkContext } from './benchmark.js';
import type { Pattern } from './pattern.js';
import { Program } from './program.js';

interface PipeFrame {
  readonly stream: 'stdout' | 'exit';
  readonly data?: string;
  readonly code?: number;
}

/**
 * What version 1 cannot beat: a child's output through a `ws` client in a process of its own as JSON text with base64
 * in it, parsed and decoded here. No journal, no requests, no session.
 */
export class BarePipe {
  private constructor(private readonly client: WebSocket) {}

  static async open(context: BenchmarkContext, { nice = false } = {}): Promise<BarePipe> {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
    context.defer('Closing the bare server', async () => {
      for (const socket of server.clients) socket.terminate();
      await new Promise((resolve) => server.close(resolve));
    });
    await once(server, 'listening');
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const program = Program.start(context, './bare-pipe-client.js', { args: [url], nice });
    const connected = once(server, 'connection') as Promise<[WebSocket]>;
    await program.next();
    return new BarePipe((await connected)[0]);
  }

  /** Runs `cat` at the far end and checks every byte; gives the milliseconds it took. */
  async run(pattern: Pattern, times: number): Promise<number> {
    const { command, args, bytes } = pattern.printed(times);
    const reader = pattern.reader();
    const began = performance.now();
    this.client.send(JSON.stringify({ command, args }));
    await new Promise<void>((resolve, reject) => {
      this.client.once('close', () => reject(new Error('the bare client has gone')));
      this.client.on('message', (message: Buffer) => {
        const frame = JSON.parse(message.toString()) as PipeFrame;
        if (frame.stream === 'stdout') return reader.take(Buffer.from(frame.data ?? '', 'base64'));
        this.client.removeAllListeners();
        if (frame.code === 0) resolve();
        else reject(new Error(`${command} exited with ${frame.code}`));
      });
    });
    reader.end(bytes);
    return performance.now() - began;
  }
}
