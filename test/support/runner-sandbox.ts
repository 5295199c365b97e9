import type { SandboxHandle } from '#libs/contract';
import { runnerSandboxName } from '../../src/runner/index.js';
import { DaemonProcess } from './daemon-process.js';
import { TestApp, type TestAppOptions } from './nest-app.js';
import { RUNNER_ID } from './runners.js';

/** A test app, and the real daemon, which is online there and has one sandbox. */
export class RunnerSandbox implements AsyncDisposable {
  private constructor(
    readonly app: TestApp,
    readonly daemon: DaemonProcess,
    readonly handle: SandboxHandle,
  ) {}

  static async start(options?: TestAppOptions): Promise<RunnerSandbox> {
    const app = await TestApp.start(options);
    let daemon: DaemonProcess | undefined;
    try {
      daemon = await DaemonProcess.launch({ url: app.url });
      await app.online(RUNNER_ID);
      return new RunnerSandbox(app, daemon, await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID)));
    } catch (error) {
      await daemon?.dispose();
      await app.close();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.daemon.dispose();
    await this.app.close();
  }
}
