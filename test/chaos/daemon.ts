import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { distFile } from '../support/dist.js';
import { settles } from '../support/until.js';
import { END_MS } from './bounds.js';
import type { FaultProxy } from './fault-proxy.js';
import type { DaemonCounts, Runner } from './messages.js';

export interface DaemonSetup {
  readonly index: number;
  readonly runner: Runner;
  readonly root: string;
  readonly temporary: string;
  readonly proxy: FaultProxy;
  /** Told of what it prints, and of an end that nobody asked for. */
  readonly complain: (what: string) => void;
}

/** One `sandbox-runner` after the other over the same root. */
export class Daemon {
  private child: ChildProcess | undefined;
  private asked = false;
  private over = false;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(readonly setup: DaemonSetup) {}

  start(): void {
    if (this.over) return;
    const { index, runner, root, temporary, proxy, complain } = this.setup;
    const probe = fileURLToPath(new URL('daemon-probe.js', import.meta.url));
    const child = fork(distFile('apps/runner/src/main.js'), [], {
      execArgv: ['--import', probe],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: {
        PATH: process.env['PATH'],
        HOME: root,
        TMPDIR: temporary,
        SANDBOX_DIST: process.env['SANDBOX_DIST'] ?? '',
        SANDBOX_RUNNER_URL: `http://127.0.0.1:${proxy.port}`,
        SANDBOX_RUNNER_TOKEN: runner.token,
        SANDBOX_RUNNER_ROOT: root,
        SANDBOX_RUNNER_NAME: `chaos-${index}`,
        SANDBOX_RUNNER_LOG_LEVEL: 'error',
      },
    });
    this.asked = false;
    this.child = child;
    child.on('error', () => {});
    child.stderr?.setEncoding('utf8').on('data', (text: string) => complain(`daemon ${index} said: ${text.trim()}`));
    child.once('exit', (code, signal) => {
      if (!this.asked) complain(`daemon ${index} ended by itself (${signal ?? code})`);
    });
  }

  /** Ends it and starts the next one. `ending` is called when it is about to end, what that returns when it has. */
  restart(signal: 'SIGKILL' | 'SIGTERM', ending: () => () => void): Promise<void> {
    return this.inTurn(async () => {
      const ended = ending();
      await this.end(signal);
      ended();
      this.start();
    });
  }

  async freeze(ms: number, sleep: (ms: number) => Promise<void>): Promise<void> {
    await this.inTurn(async () => {
      this.child?.kill('SIGSTOP');
      await sleep(ms).finally(() => this.child?.kill('SIGCONT'));
    });
  }

  async counts(): Promise<DaemonCounts> {
    const child = this.child as ChildProcess;
    const answer = once(child, 'message');
    child.send({});
    const [counts] = (await settles('the counts of a daemon', answer, END_MS)) as [DaemonCounts];
    return counts;
  }

  /** The last one. */
  stop(): Promise<void> {
    return this.inTurn(() => this.end('SIGTERM'));
  }

  /** At once, whatever it is in, and for good. */
  async kill(): Promise<void> {
    this.over = true;
    this.asked = true;
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  private async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.child as ChildProcess;
    const { index, complain } = this.setup;
    if (child.exitCode !== null || child.signalCode !== null) return;
    this.asked = true;
    const exit = once(child, 'exit');
    child.kill(signal);
    try {
      const [code, by] = (await settles('a daemon', exit, END_MS)) as [number | null, NodeJS.Signals | null];
      // One that is still being loaded has no way yet to answer SIGTERM.
      if (signal === 'SIGTERM' && code !== 0 && by !== signal) {
        complain(`daemon ${index} ended with ${by ?? code} when it was stopped`);
      }
    } catch {
      complain(`daemon ${index} did not end within ${END_MS} ms of ${signal}`);
      child.kill('SIGKILL');
      await exit;
    }
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => {});
    return done;
  }
}
