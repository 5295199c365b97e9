import { expect, test } from '@jest/globals';
import type { Daemon } from './daemon.js';
import { FaultLog } from './fault-log.js';
import { Inflictor } from './inflictor.js';
import type { Platform } from './platform.js';

test('a fault that lasts when the run is interrupted leaves no unhandled rejection', async () => {
  const interrupted = new AbortController();
  let refused = false;
  const proxy = { refuse: () => (refused = true), cut: () => {} };
  const stage = { platform: {} as Platform, daemons: [{ setup: { proxy } } as unknown as Daemon] };
  const inflictor = new Inflictor(stage, new FaultLog(), interrupted.signal);
  const inflicting = inflictor.inflict([{ kind: 'refuse', at: 0, ms: 60_000, afterBytes: 0, daemon: 0 }], 60_000);
  await new Promise(setImmediate);
  expect(refused).toBe(true);
  interrupted.abort();
  await expect(inflicting).rejects.toMatchObject({ name: 'AbortError' });
  // Node tells of unhandled rejections at the end of a turn, and Jest fails a test for them.
  await new Promise(setImmediate);
});
