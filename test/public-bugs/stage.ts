import type { ExecOptions, ExecResult, SandboxCommand, SandboxHandle, SpawnOptions } from '#libs/contract';
import { runnerSandboxName } from '../../src/runner/index.js';
import { DaemonProcess, type DaemonProcessOptions } from '../support/daemon-process.js';
import { TestApp, type TestAppOptions } from '../support/nest-app.js';
import { RUNNER_ID } from '../support/runners.js';

export interface StageOptions {
  readonly app?: TestAppOptions;
  readonly daemon?: Partial<DaemonProcessOptions>;
  /** Where the daemon dials, when that is not the application itself. */
  readonly urlFor?: (app: TestApp) => string | Promise<string>;
}

/** A platform, the real daemon on a real socket, and one sandbox on it. */
export class Stage implements AsyncDisposable {
  private constructor(
    readonly app: TestApp,
    readonly daemon: DaemonProcess,
    readonly handle: SandboxHandle,
    /** The sandbox's directory on this machine. */
    readonly home: string,
  ) {}

  static async set({ app: appOptions, daemon: daemonOptions, urlFor }: StageOptions = {}): Promise<Stage> {
    const app = await TestApp.start(appOptions);
    const url = (await urlFor?.(app)) ?? app.url;
    const daemon = await DaemonProcess.launch({ url, ...daemonOptions });
    await app.online(RUNNER_ID);
    const handle = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
    return new Stage(app, daemon, handle, await app.sandboxes.hostPath(handle, '/home/sprite'));
  }

  /** `bash -c` in the sandbox, to its end. */
  sh(script: string, options?: ExecOptions): Promise<ExecResult> {
    return this.app.sandboxes.exec(this.handle, 'bash', ['-c', script], options);
  }

  /** `bash -c` in the sandbox, as a stream. */
  spawnSh(script: string, options?: SpawnOptions): Promise<SandboxCommand> {
    return this.app.sandboxes.spawn(this.handle, 'bash', ['-c', script], options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.daemon.dispose();
    await this.app.close();
  }
}
