import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { userEnvironment } from './program.js';

/** A program that runs beside a test; what it prints is kept. */
export class Background implements AsyncDisposable {
  output = '';
  readonly #closed: Promise<unknown>;

  private constructor(readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    this.#closed = once(child, 'close');
  }

  static start(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Background {
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    return new Background(spawn(program, args, { cwd, env: userEnvironment(env), stdio: [...stdio] }));
  }

  /** Sends SIGTERM; resolves with the exit code or signal when it has ended. */
  async stop(): Promise<number | NodeJS.Signals | null> {
    this.child.kill('SIGTERM');
    await this.#closed;
    return this.child.signalCode ?? this.child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.stop();
  }
}

/** A port of loopback on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
