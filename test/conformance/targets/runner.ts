import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { shellWords, type Heal, type SubjectInsight } from '#libs/conformance';
import { processTable } from '#libs/process';
import { RunnerAdapter, runnerSandboxName } from '../../../src/runner/index.js';
import { DaemonProcess } from '../../support/daemon-process.js';
import { TestApp } from '../../support/nest-app.js';
import { OTHER_RUNNER_ID, OTHER_RUNNER_TOKEN, RUNNER_ID } from '../../support/runners.js';
import { ScriptedDaemon } from '../../support/scripted-daemon.js';
import { RunnerWire } from './runner-wire.js';
import { tappedWsAdapter } from './tapped-ws.js';
import type { Target } from './target.js';
import { wireFaults } from './wire-faults.js';

/** The real daemon as a process of its own, over a real socket, served by a Nest application. */
export async function openRunner(): Promise<Target> {
  const wire = new RunnerWire();
  const app = await TestApp.start({ wsAdapter: (nest) => tappedWsAdapter(nest, wire) });
  const daemon = await DaemonProcess.launch({ url: app.url, redialMs: 0 });
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
      faults: { ...wireFaults(app.host, RUNNER_ID, wire), failPage: () => otherRunner(app) },
      insight: insightOf(app, wire, daemon.root),
    },
    [Symbol.asyncDispose]: close,
  };
}

/** A second runner, which does not say what is on it. */
async function otherRunner(app: TestApp): Promise<Heal> {
  const other = await ScriptedDaemon.connect({ url: app.url, token: OTHER_RUNNER_TOKEN, name: 'other' });
  other.answer = () => ({ ok: false, error: 'unavailable', detail: 'not now' });
  await app.online(OTHER_RUNNER_ID);
  return async () => {
    await other.close();
    await app.offline(OTHER_RUNNER_ID);
  };
}

function insightOf(app: TestApp, wire: RunnerWire, root: string): SubjectInsight {
  return {
    anotherClient: async () => ({ adapter: new RunnerAdapter(app.host), close: async () => {} }),
    requestCount: () => wire.requests,
    leftovers: () => leftovers(root),
  };
}

/** When no sandbox is left. */
async function leftovers(root: string): Promise<string[]> {
  const real = await realpath(root);
  const processes = (await processTable()).flatMap(({ pid, zombie, directoryMarker }) =>
    directoryMarker?.startsWith(join(real, '/')) && !zombie ? [`process ${pid} of ${directoryMarker}`] : [],
  );
  const directories = await Promise.all(
    ['', '.runner/state', '.runner/sessions', '.runner/trash'].map(async (directory) => {
      const entries = await readdir(join(real, directory));
      return entries.filter((entry) => entry !== '.runner').map((entry) => join(directory, entry));
    }),
  );
  return [...processes, ...directories.flat()];
}
