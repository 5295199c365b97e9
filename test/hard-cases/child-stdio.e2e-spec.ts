import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SandboxHandle } from '#libs/contract';
import { collect } from '../support/collect.js';
import type { DaemonProcess } from '../support/daemon-process.js';
import type { TestApp } from '../support/nest-app.js';
import { RunnerSandbox } from '../support/runner-sandbox.js';
import { settles, until } from '../support/until.js';

let runner: RunnerSandbox;
let app: TestApp;
let daemon: DaemonProcess;
let handle: SandboxHandle;

beforeAll(async () => {
  runner = await RunnerSandbox.start();
  ({ app, daemon, handle } = runner);
});

afterAll(async () => {
  await runner?.[Symbol.asyncDispose]();
});

describe('the output of a child', () => {
  test.each([
    ['>/dev/stdout', 'echo one >/dev/stdout; echo two', 'one\ntwo\n', ''],
    ['>/dev/stderr', 'echo one >/dev/stderr; echo two >&2', '', 'one\ntwo\n'],
    ['tee /dev/stderr', 'echo x | tee /dev/stderr', 'x\n', 'x\n'],
    ['tee /dev/stdout', 'echo x | tee /dev/stdout', 'x\nx\n', ''],
    ['/proc/self/fd/1', 'echo x >/proc/self/fd/1', 'x\n', ''],
  ])('%s is written as it is opened', async (_case, script, stdout, stderr) => {
    const result = await app.sandboxes.exec(handle, 'bash', ['-c', script]);
    expect([result.text(), Buffer.from(result.stderr ?? []).toString(), result.exitCode]).toEqual([stdout, stderr, 0]);
    const seen = await collect(await app.sandboxes.spawn(handle, 'bash', ['-c', script]));
    expect([seen.stdout.toString(), seen.stderr.toString(), seen.exit]).toEqual([stdout, stderr, { exitCode: 0 }]);
  });
});

describe('the stdin of a child', () => {
  test('bash /dev/stdin runs the script that exec was given', async () => {
    const script = 'echo "got $1"; exit 3\n';
    const result = await app.sandboxes.exec(handle, 'bash', ['/dev/stdin', 'an argument'], { stdin: script });
    expect([result.text(), result.exitCode]).toEqual(['got an argument\n', 3]);
  });

  test('cat /dev/stdin gives 3 MB as they are', async () => {
    const stdin = Buffer.alloc(3_000_000, 'a');
    const result = await app.sandboxes.exec(handle, 'cat', ['/dev/stdin'], { stdin });
    expect([stdin.equals(result.output), result.exitCode]).toEqual([true, 0]);
  });

  test('an empty one is at its end, however it is opened', async () => {
    const call = app.sandboxes.exec(handle, 'bash', ['-c', 'cat; cat /dev/stdin; cat </dev/stdin; echo end'], {
      stdin: '',
    });
    expect((await settles('the exec', call, 10_000)).text()).toBe('end\n');
  });

  test('one that is opened again after its end is at its end, and what is left in it is read', async () => {
    // It opens /dev/stdin only when it is told to, and that is after the end of stdin was answered.
    const script = 'read -r first; echo "$first"; mkfifo ready; read -r x <ready; cat /dev/stdin; exit 5';
    const command = await app.sandboxes.spawn(handle, 'bash', ['-c', script], { stdin: true });
    const seen = collect(command);
    await command.writeStdin('first\nsecond\n');
    await command.closeStdin();
    await app.sandboxes.exec(handle, 'bash', ['-c', 'until [ -p ready ]; do sleep 0.02; done; echo >ready']);
    const { stdout, exit } = await settles('the command', seen, 10_000);
    expect([stdout.toString(), exit]).toEqual(['first\nsecond\n', { exitCode: 5 }]);
  });

  test('200 that have ended leave no name behind', async () => {
    for (let round = 0; round < 10; round += 1) {
      const calls = Array.from({ length: 20 }, () => app.sandboxes.exec(handle, 'true', [], { stdin: 'x' }));
      await Promise.all(calls);
    }
    // As many as are made ahead at most.
    const names = async () => await readdir(join(daemon.root, '.runner', 'tmp'));
    await until('those that were used are gone', async () => (await names()).length <= 256).catch(() => {});
    expect((await names()).length).toBeLessThanOrEqual(256);
  });
});
