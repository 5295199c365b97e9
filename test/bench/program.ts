import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BenchmarkContext } from './benchmark.js';

const END_WITHIN_MS = 15_000;

export interface ProgramOptions {
  readonly args?: readonly string[];
  readonly execArgv?: readonly string[];
  /** @default that of this process */
  readonly env?: NodeJS.ProcessEnv;
  /** Run at a lower priority than everything else. @default false */
  readonly nice?: boolean;
}

/** A Node program that one benchmark starts, ended with it. Its stdout goes to our stderr. */
export class Program {
  private constructor(
    readonly child: ChildProcess,
    private readonly file: string,
  ) {}

  /** @param file absolute, or a file of this directory by its compiled name */
  static start(context: BenchmarkContext, file: string, options: ProgramOptions = {}): Program {
    const { profileDir } = context;
    const profile = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
    const nice = options.nice ? ['-n', '10', process.execPath] : [];
    const child = fork(fileURLToPath(new URL(file, import.meta.url)), [...(options.args ?? [])], {
      ...(options.nice && { execPath: 'nice' }),
      execArgv: [...nice, ...profile, ...(options.execArgv ?? [])],
      stdio: ['ignore', 2, 2, 'ipc'],
      ...(options.env && { env: options.env }),
    });
    const program = new Program(child, file);
    context.defer(`Ending ${file}`, () => program.end());
    return program;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Sends a message and resolves with the next one that comes back. @throws {Error} when the program ends first */
  async ask<T>(message: unknown): Promise<T> {
    const answer = this.next<T>();
    this.child.send(message as object);
    return answer;
  }

  /** The next message. */
  async next<T>(): Promise<T> {
    const stop = new AbortController();
    const ended = once(this.child, 'exit', { signal: stop.signal }).then(() => {
      throw new Error(`${this.file} ended (${this.child.signalCode ?? this.child.exitCode}) without an answer`);
    });
    try {
      const [message] = (await Promise.race([once(this.child, 'message', { signal: stop.signal }), ended])) as [T];
      return message;
    } finally {
      stop.abort();
      await ended.catch(() => {});
    }
  }

  /** TERM, and KILL for one that does not end. */
  async end(): Promise<void> {
    if (this.hasEnded) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), END_WITHIN_MS);
    await ended;
    clearTimeout(timer);
  }
}
