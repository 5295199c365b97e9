import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { until } from '../support/until.js';
import { userEnvironment } from './program.js';

/** A program that runs beside a test; what it prints is kept. */
export class Background implements AsyncDisposable {
  output = '';
  #isClosed = false;
  readonly #closed: Promise<unknown>;

  private constructor(readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    this.#closed = once(child, 'close').then(() => (this.#isClosed = true));
  }

  static start(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Background {
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    return new Background(spawn(program, args, { cwd, env: userEnvironment(env), stdio: [...stdio] }));
  }

  /** Resolves when it has printed this. @throws {Error} with what it printed instead */
  async prints(pattern: RegExp): Promise<void> {
    const hasPrinted = (): boolean => pattern.test(this.output);
    await until('it prints or ends', () => hasPrinted() || this.#isClosed).catch(() => undefined);
    if (!hasPrinted()) throw new Error(`${pattern} was not printed, but:\n${this.output}`);
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

/** A port of loopback on which nothing listens; none that a system would give to another who asks for any. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
