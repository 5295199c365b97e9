// Loaded before the daemon's own program: dials again sooner, and tells whoever started it what the keeper counts.
import { pathToFileURL } from 'node:url';
import type { Reconnect as ReconnectClass } from '../../apps/runner/src/reconnect.js';
import type { LocalKeeper as LocalKeeperClass } from '#libs/process';
import { distFile } from '../support/dist.js';
import { REDIAL_FACTOR } from './bounds.js';
import type { DaemonCounts } from './messages.js';

const load = (path: string): Promise<unknown> => import(pathToFileURL(distFile(path)).href);

const { Reconnect } = (await load('apps/runner/src/reconnect.js')) as { Reconnect: typeof ReconnectClass };
const { LocalKeeper } = (await load('libs/process/src/index.js')) as { LocalKeeper: typeof LocalKeeperClass };

const nextDelayMs = Object.getOwnPropertyDescriptor(Reconnect.prototype, 'nextDelayMs')?.value as () => number;
Reconnect.prototype.nextDelayMs = function sooner(this: ReconnectClass): number {
  return nextDelayMs.call(this) / REDIAL_FACTOR;
};

let keeper: LocalKeeperClass | undefined;
const open = LocalKeeper.open.bind(LocalKeeper);
LocalKeeper.open = async (options) => (keeper = await open(options));

process.on('message', () => {
  const counts = keeper?.stats() ?? { running: 0, sessions: 0 };
  process.send?.({ ...counts, resources: process.getActiveResourcesInfo() } satisfies DaemonCounts);
});
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref();
