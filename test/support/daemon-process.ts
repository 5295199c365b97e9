import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';
import { distFile } from './dist.js';
import { processesOf } from './processes.js';
import { RUNNER_TOKEN } from './runners.js';
import { tempDir } from './temp-dir.js';
import { until } from './until.js';

export interface DaemonProcessOptions {
  /** Base URL of the platform. */
  readonly url: string;
  /** @default the token of the runner that every test app knows */
  readonly token?: string;
  /** @default a temporary directory, removed by `dispose` */
  readonly root?: string;
  readonly name?: string;
  /** @default 'info' */
  readonly logLevel?: 'error' | 'warn' | 'info' | 'debug';
  /** What it waits before it dials again. @default 1 s: long enough to be seen offline */
  readonly redialMs?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Before it dials again, the daemon waits by lot: up to 15 s the first time, up to 15 s more after that. These are the
 * lots that make it wait `ms`, so that tests do not. `apps/runner` tests the lots, and the chaos run draws them.
 */
function lotsFor(ms: number): string {
  const [first, later] = [15_000, 30_000].map((longest) => (longest - ms) / 15_000);
  const lots = `let drawn = 0; Math.random = () => (drawn++ === 0 ? ${first} : ${later})`;
  return `data:text/javascript,${encodeURIComponent(lots)}`;
}

/** The real daemon, as a child process of the test. */
export class DaemonProcess implements AsyncDisposable {
  stdout = '';
  stderr = '';
  /** How it ended, once it has. */
  ended: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined;

  private constructor(
    readonly child: ChildProcessByStdio<null, Readable, Readable>,
    readonly root: string,
    readonly removeRoot: () => Promise<void>,
  ) {
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    child.on('close', (code, signal) => {
      this.ended = { code, signal };
    });
  }

  /** Starts it; that it gets online is for the platform to see. */
  static async launch({
    url,
    token = RUNNER_TOKEN,
    root,
    name = 'e2e',
    logLevel = 'info',
    redialMs = 1_000,
    env = {},
  }: DaemonProcessOptions): Promise<DaemonProcess> {
    const temporary = root === undefined ? await tempDir('root') : undefined;
    const directory = temporary?.path ?? root ?? '';
    const child = spawn(process.execPath, ['--import', lotsFor(redialMs), distFile('apps/runner/src/main.js')], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: directory,
        SANDBOX_RUNNER_URL: url,
        SANDBOX_RUNNER_TOKEN: token,
        SANDBOX_RUNNER_ROOT: directory,
        SANDBOX_RUNNER_NAME: name,
        SANDBOX_RUNNER_LOG_LEVEL: logLevel,
        ...env,
      },
    });
    return new DaemonProcess(child, directory, async () => temporary?.remove());
  }

  get pid(): number {
    return this.child.pid as number;
  }

  signal(name: NodeJS.Signals): void {
    if (!this.ended) this.child.kill(name);
  }

  /** Resolves once it has ended. */
  async end(withinMs = 30_000): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    return until('the daemon ends', () => this.ended, { withinMs });
  }

  /** Kills the daemon alone; what it ran lives on until `dispose`. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  /** Ends it in the way that its owner would, then removes whatever is left of it. */
  async dispose(): Promise<void> {
    this.signal('SIGCONT');
    this.signal('SIGTERM');
    await this.end(20_000).catch(() => this.kill());
    for (const pid of await processesOf(this.root)) killIfThere(pid);
    await this.removeRoot();
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
