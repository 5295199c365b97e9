import type { Heal } from '#libs/conformance';
import { SandboxError } from '#libs/contract';
import { RunnerConnection } from '#libs/protocol';
import { FakeDaemon, loopback, type FakeDaemonOptions } from '#libs/testing';
import { LocalRunnerHost, RunnerAdapter, runnerSandboxName } from '../../../src/runner/index.js';
import { OTHER_RUNNER_ID, RUNNER_ID } from '../../support/runners.js';
import { until } from '../../support/until.js';
import { fakePrograms, fakeWords } from './fake-words.js';
import { RunnerWire } from './runner-wire.js';
import type { Target } from './target.js';
import { wireFaults } from './wire-faults.js';

/** The fake daemon as the suite needs it. */
export function fakeDaemon(options: FakeDaemonOptions = {}): FakeDaemon {
  return new FakeDaemon({ instance: 'fake-daemon', programs: fakePrograms, ...options });
}

/** A daemon in memory that speaks the wire protocol over sockets in memory, and dials again when one breaks. */
export async function openFakeDaemon(daemon: FakeDaemon = fakeDaemon(), wire = new RunnerWire()): Promise<Target> {
  const host = new LocalRunnerHost();
  const closing = new AbortController();
  const stayConnected = async (): Promise<void> => {
    while (!closing.signal.aborted) await connected(daemon, host, wire).settled;
  };
  void stayConnected();
  await until('the daemon is registered', () => host.whereis(RUNNER_ID));
  return {
    subject: {
      name: 'fake_daemon',
      adapter: new RunnerAdapter(host),
      words: fakeWords,
      newName: () => runnerSandboxName(RUNNER_ID),
      faults: { ...wireFaults(host, RUNNER_ID, wire), failPage: () => otherRunner(host) },
      insight: {
        anotherClient: async () => ({ adapter: new RunnerAdapter(host), close: async () => {} }),
        requestCount: () => wire.requests,
      },
    },
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await daemon.close();
    },
  };
}

/** A second runner, which does not say what is on it. */
async function otherRunner(registry: LocalRunnerHost): Promise<Heal> {
  const other = new FakeDaemon({ name: 'other', instance: 'other' });
  other.onRequest = ({ op }) => (op === 'list' ? Promise.reject(new SandboxError('unavailable')) : undefined);
  const { settled } = other.connect({ runnerId: OTHER_RUNNER_ID, registry });
  await until('the other daemon is registered', () => registry.whereis(OTHER_RUNNER_ID));
  return async () => {
    await other.close();
    await settled;
  };
}

/** One connection of the daemon, through the wire. */
function connected(daemon: FakeDaemon, registry: LocalRunnerHost, wire: RunnerWire): RunnerConnection {
  const [platform, far] = loopback();
  const { name, instance } = daemon.query;
  const send = platform.send.bind(platform);
  const tap = wire.tap({
    deliver: (text) => connection.text(text),
    cut: () => platform.cut(),
    close: () => platform.close(1001, 'the test closes'),
  });
  platform.send = (text, flushed) => {
    if (tap.sends(text)) send(text, flushed);
    else flushed?.();
  };
  const connection = new RunnerConnection(platform, {
    runnerId: RUNNER_ID,
    registry,
    meta: daemon.query,
    name,
    ...(instance !== undefined && { instance }),
  });
  platform.listen({
    text: (text) => tap.arrives(text),
    binary: () => connection.binary(),
    pong: () => connection.pong(),
    closed: (code, reason) => connection.closed(code, reason),
  });
  daemon.serve(far);
  connection.start();
  return connection;
}
