import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SandboxHandle } from 'nestjs-sandbox';
import { runnerSandboxName } from 'nestjs-sandbox/runner';
import { LocalKeeper } from '#libs/process';
import type { Cleanup } from './cleanup.js';
import { createPlatform, type Platform } from './create-platform.js';
import { DaemonProcess } from './daemon-process.js';
import type { Interruption } from './interruption.js';
import { listenOptions } from './listen-options.js';

const ONLINE_WITHIN_MS = 30_000;

/** A runner id and its token. */
export interface RunnerCredential {
  readonly runnerId: string;
  readonly token: string;
}

/** A platform, a daemon and one sandbox on it. */
export interface LocalStack {
  readonly platform: Platform;
  readonly handle: SandboxHandle;
  /** For a second machine. */
  readonly spare: RunnerCredential;
  /** Resolves with the reason when the daemon has ended. Never rejects. */
  readonly daemonEnded: Promise<string>;
}

/**
 * Brings everything up, entering each step into `cleanup` as it is taken, so that a failure or an interruption half way
 * leaves nothing.
 *
 * @throws {InterruptedError} once the step under way is done
 * @throws {Error} when the daemon ends or does not come online in 30 s, with the end of its log
 */
export async function startLocalStack(
  cleanup: Cleanup,
  interruption: Interruption,
  log: 'inherit' | 'keep',
): Promise<LocalStack> {
  const { signal } = interruption;
  const own = mintCredential();
  const spare = mintCredential();
  const platform = await createPlatform({
    ...listenOptions(process.env),
    runnerTokens: [own, spare].map(({ runnerId, token }) => `${runnerId}:${token}`).join('\n'),
    logLevels: log === 'inherit' ? ['error', 'fatal', 'warn'] : ['fatal'],
  });
  cleanup.defer('Closing the platform', () => platform.app.close());
  signal.throwIfAborted();

  const root = await mkdtemp(join(tmpdir(), 'sandbox-runner-'));
  cleanup.defer('Removing the temporary directory', () => rm(root, { recursive: true, force: true, maxRetries: 3 }));
  signal.throwIfAborted();

  const daemon = new DaemonProcess({ url: platform.url, token: own.token, root, name: 'local', log });
  cleanup.defer(
    'Ending what a killed runner left',
    async () => daemon.endedWell || (await LocalKeeper.open({ root })).close(),
  );
  cleanup.defer('Stopping the runner', () => daemon.stop());
  await interruption.unless(online(platform, own.runnerId, daemon));

  const handle = await platform.sandboxes.create('runner', runnerSandboxName(own.runnerId), { signal });
  cleanup.defer('Destroying the sandbox', () => platform.sandboxes.destroy(handle));
  signal.throwIfAborted();
  return { platform, handle, spare, daemonEnded: daemon.ended };
}

async function online(platform: Platform, runnerId: string, daemon: DaemonProcess): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, ONLINE_WITHIN_MS, 'it did not come online in 30 s');
  });
  const problem = await Promise.race([platform.host.whenOnline(runnerId), daemon.ended, late]);
  clearTimeout(timer);
  if (problem !== undefined) throw new Error(`The runner is not there: ${problem}\n${daemon.log}`.trimEnd());
}

function mintCredential(): RunnerCredential {
  return { runnerId: randomUUID(), token: randomBytes(32).toString('base64url') };
}
