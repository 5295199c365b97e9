import { FakeDaemon, type FakeDaemonOptions } from '#libs/testing';
import { LocalRunnerHost, RunnerAdapter, runnerSandboxName } from '../../../src/runner/index.js';
import { RUNNER_ID } from '../../support/runners.js';
import { until } from '../../support/until.js';
import { fakePrograms, fakeWords } from './fake-words.js';
import type { Target } from './target.js';

/** The fake daemon as the suite needs it. */
export function fakeDaemon(options: FakeDaemonOptions = {}): FakeDaemon {
  return new FakeDaemon({ instance: 'fake-daemon', programs: fakePrograms, ...options });
}

/** A daemon in memory that speaks the wire protocol over sockets in memory. */
export async function openFakeDaemon(daemon: FakeDaemon = fakeDaemon()): Promise<Target> {
  const host = new LocalRunnerHost();
  daemon.connect({ runnerId: RUNNER_ID, registry: host });
  await until('the daemon is registered', () => host.whereis(RUNNER_ID));
  return {
    subject: {
      name: 'fake_daemon',
      adapter: new RunnerAdapter(host),
      words: fakeWords,
      newName: () => runnerSandboxName(RUNNER_ID),
    },
    [Symbol.asyncDispose]: () => daemon.close(),
  };
}
