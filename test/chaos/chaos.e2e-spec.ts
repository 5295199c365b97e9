import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { REPOSITORY } from '../support/dist.js';
import { processesOf } from '../support/processes.js';
import { tempDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';
import { COUNTERS } from './counters.js';
import type { ChaosReport } from './report.js';

const SMALL = ['--seed', '1', '--seconds', '8', '--daemons', '2', '--sessions', '16', '--json'];
const PROGRAM = join(REPOSITORY, 'tools', 'chaos.mjs');
const ZEROS = Object.fromEntries(Object.keys(COUNTERS).map((name) => [name, 0]));

test('a small run does faults, reads to the ends of sessions, counts zeros and leaves nothing', async () => {
  const directory = await tempDir('chaos-test');
  const env = { ...process.env, NODE_OPTIONS: '', TMPDIR: directory.path };
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...SMALL], { env }).catch(
    (error: { stdout: string }) => error,
  );
  const report = JSON.parse(stdout) as ChaosReport;
  expect({ findings: report.findings, counters: report.counters }).toEqual({ findings: [], counters: ZEROS });
  expect(report.stories.exits).toBeGreaterThan(10);
  expect(report.bytesRead).toBeGreaterThan(100_000);
  expect(Object.values(report.faults).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(5);
  expect(await readdir(directory.path)).toEqual([]);
  expect(await processesOf(directory.path)).toEqual([]);
  await directory.remove();
});

test('Ctrl-C ends it with 130 and leaves nothing', async () => {
  const directory = await tempDir('chaos-test');
  const env = { ...process.env, NODE_OPTIONS: '', TMPDIR: directory.path };
  const child = spawn(process.execPath, [PROGRAM, ...SMALL], { env, stdio: 'ignore' });
  const exit = once(child, 'exit');
  await until('sessions run', async () => (await processesOf(`${directory.path}/`)).length > 5, { everyMs: 100 });
  child.kill('SIGINT');
  expect(await exit).toEqual([130, null]);
  expect(await readdir(directory.path)).toEqual([]);
  expect(await processesOf(directory.path)).toEqual([]);
  await directory.remove();
});

test('a bad option is refused with one line', async () => {
  const env = { ...process.env, NODE_OPTIONS: '' };
  const run = promisify(execFile)(process.execPath, [PROGRAM, '--seconds', 'soon'], { env });
  await expect(run).rejects.toMatchObject({
    code: 2,
    stdout: '',
    stderr: '--seconds: expected a whole number from 5 to 3600, not "soon"\n',
  });
});
