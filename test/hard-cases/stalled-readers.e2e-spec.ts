import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { SandboxHandle } from '#libs/contract';
import type { RunnerConnection } from '#libs/protocol';
import { runnerSandboxName } from '../../src/runner/index.js';
import { gate } from '../support/gate.js';
import type { TestApp } from '../support/nest-app.js';
import { RunnerSandbox } from '../support/runner-sandbox.js';
import { RUNNER_ID } from '../support/runners.js';
import { until } from '../support/until.js';

const MiB = 1024 * 1024;
const READERS = 16;
const ROUNDS = 61;
/** How much a stalled reader may add to an exec beside it. */
const MAX_ADDED_MS = 100;

let runner: RunnerSandbox;
let app: TestApp;
let handle: SandboxHandle;

beforeAll(async () => {
  runner = await RunnerSandbox.start();
  ({ app, handle } = runner);
});

afterAll(async () => {
  await runner?.[Symbol.asyncDispose]();
});

async function medianExecMs(): Promise<number> {
  const took: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = performance.now();
    const { exitCode } = await app.sandboxes.exec(handle, 'true', []);
    took.push(performance.now() - startedAt);
    expect(exitCode).toBe(0);
  }
  return took.toSorted((a, b) => a - b)[(ROUNDS - 1) / 2] as number;
}

test('16 readers that have stalled do not hold up an exec on the same runner', async () => {
  await medianExecMs();
  const aloneMs = await medianExecMs();
  const never = gate();
  const other = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
  // More than is queued for one reader, and then more and more.
  const script = 'head -c 8000000 /dev/zero; while :; do head -c 65536 /dev/zero; sleep 0.05; done';
  let stalled = 0;
  const readers = Array.from({ length: READERS }, async () => {
    const command = await app.sandboxes.spawn(other, 'bash', ['-c', script]);
    let first = true;
    const exit = await command.forEach(async () => {
      if (!first) return;
      first = false;
      stalled += 1;
      await never.opened;
    });
    return exit.exitCode;
  });
  await until('all of them have stalled', () => stalled === READERS);
  const connection = app.host.links.at(-1) as unknown as RunnerConnection;
  await until('each has filled its queue', () => connection.stats().queuedBytes > READERS * 3 * MiB);
  const besideMs = await medianExecMs();
  process.stdout.write(
    `an exec alone: median ${aloneMs.toFixed(1)} ms; beside ${READERS} stalled readers: ${besideMs.toFixed(1)} ms\n`,
  );
  expect(besideMs - aloneMs).toBeLessThan(MAX_ADDED_MS);
  // And they were only slow: what they were sent comes, and then the exit.
  never.open();
  await app.sandboxes.suspend(other);
  expect(await Promise.all(readers)).toEqual(Array.from({ length: READERS }, () => 143));
}, 120_000);
