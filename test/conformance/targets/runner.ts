import { shellWords } from '#libs/conformance';
import { RunnerAdapter, runnerSandboxName } from '../../../src/runner/index.js';
import { DaemonProcess } from '../../support/daemon-process.js';
import { TestApp } from '../../support/nest-app.js';
import { RUNNER_ID } from '../../support/runners.js';
import type { Target } from './target.js';

/** The real daemon as a process of its own, over a real socket, served by a Nest application. */
export async function openRunner(): Promise<Target> {
  const app = await TestApp.start();
  const daemon = await DaemonProcess.launch({ url: app.url });
  const close = async (): Promise<void> => {
    await daemon.dispose();
    await app.close();
  };
  try {
    await app.online(RUNNER_ID);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    subject: {
      name: 'runner',
      adapter: new RunnerAdapter(app.host),
      words: shellWords,
      newName: () => runnerSandboxName(RUNNER_ID),
    },
    [Symbol.asyncDispose]: close,
  };
}
