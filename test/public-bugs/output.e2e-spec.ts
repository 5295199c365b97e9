import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runnerSandboxName } from '../../src/runner/index.js';
import { collect, digest, sha256 } from '../support/collect.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { refusal } from '../support/errors.js';
import { TestApp } from '../support/nest-app.js';
import { appeared, sleepMarker } from '../support/processes.js';
import { RUNNER_ID } from '../support/runners.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { settles } from '../support/until.js';
import { Stage } from './stage.js';

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.set();
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
});

test('bug 1: a background process that never stops writing does not hold up the exit', async () => {
  const script = '(trap "" PIPE; while :; do echo more; sleep 0.05; done) & echo hi; exit 4';
  const result = await settles('the exec', stage.sh(script), 5_000);
  expect([result.exitCode, result.text().replaceAll('more\n', '')]).toEqual([4, 'hi\n']);
  const seen = await settles('the spawn', collect(await stage.spawnSh(script)), 5_000);
  expect(seen.frames.at(-1)).toEqual({ type: 'exit', exitCode: 4 });
  expect(seen.frames.filter((frame) => frame.type === 'exit')).toHaveLength(1);
});

test('bug 2: on a busy machine the exit does not overtake the last output', async () => {
  const bytes = 1_000_000;
  const hogs = await stage.spawnSh('(while :; do :; done) & (while :; do :; done) & wait');
  const script = `head -c ${bytes} /dev/zero | tr '\\0' a; exit 3`;
  const expected = [{ bytes, sha256: sha256(Buffer.alloc(bytes, 'a')) }, { exitCode: 3 }];
  for (let round = 0; round < 15; round += 1) {
    const { stdout, exit } = await digest(await stage.spawnSh(script));
    expect([stdout, exit]).toEqual(expected);
    const { output, exitCode } = await stage.sh(script);
    expect([{ bytes: output.byteLength, sha256: sha256(output) }, { exitCode }]).toEqual(expected);
  }
  await hogs.stop();
});

test('bug 3: a process that somebody else kills is 137 with its signal', async () => {
  const [marker, other] = [sleepMarker(), sleepMarker()];
  const exec = stage.app.sandboxes.exec(stage.handle, 'sleep', [marker]);
  const spawn = (await stage.app.sandboxes.spawn(stage.handle, 'sleep', [other])).drain();
  for (const one of [marker, other]) process.kill((await appeared(one))[0] as number, 'SIGKILL');
  const { exitCode, signal } = await exec;
  expect([{ exitCode, signal }, await spawn]).toEqual([
    { exitCode: 137, signal: 'SIGKILL' },
    { exitCode: 137, signal: 'SIGKILL' },
  ]);
});

test('bug 37: a line of 100 MB comes in frames of at most 64 KiB, and what follows it comes too', async () => {
  const bytes = 100_000_000;
  const command = await stage.spawnSh(`head -c ${bytes} /dev/zero | tr '\\0' x; echo; echo done; exit 5`);
  let [longest, length] = [0, 0];
  let tail = '';
  const exit = await command.forEach(({ data }) => {
    longest = Math.max(longest, data.byteLength);
    length += data.byteLength;
    tail = (tail + Buffer.from(data).toString('latin1')).slice(-8);
  });
  expect([length, tail, exit]).toEqual([bytes + 6, 'xx\ndone\n', { exitCode: 5 }]);
  expect(longest).toBeLessThanOrEqual(64 * 1024);
});

test('bug 62: a command without stdin goes on after its first output', async () => {
  const script = 'for step in a b c; do echo $step; until [ -e $step ]; do sleep 0.02; done; done; exit 6';
  const command = await stage.spawnSh(script);
  let seen = '';
  const exit = await command.forEach(async ({ data }) => {
    seen += Buffer.from(data).toString();
    await writeFile(join(stage.home, seen.trimEnd().at(-1) as string), '');
  });
  expect([seen, exit]).toEqual(['a\nb\nc\n', { exitCode: 6 }]);
});

test('bug 65: through a slow link an exec is whole; cut on the way it is an error, never a short success', async () => {
  const app = await TestApp.start();
  const proxy = await TcpProxy.listen(app.port);
  proxy.throttle(8_000_000);
  const daemon = await DaemonProcess.launch({ url: proxy.url });
  await app.online(RUNNER_ID);
  const handle = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
  const numbers = Buffer.from(Array.from({ length: 1_000_000 }, (_, i) => `${i + 1}\n`).join(''));
  const { output, exitCode } = await app.sandboxes.exec(handle, 'seq', ['1', '1000000']);
  expect([output.byteLength, sha256(output), exitCode]).toEqual([numbers.byteLength, sha256(numbers), 0]);

  const command = await app.sandboxes.spawn(handle, 'seq', ['1', '5000000']);
  let bytes = 0;
  const end = command.forEach(({ data }) => {
    bytes += data.byteLength;
    if (bytes > 1_000_000) proxy.cut();
  });
  expect(await refusal(end)).toMatchObject({ code: 'unavailable', detail: 'runner_disconnected' });
  await daemon.dispose();
  await app.close();
  await proxy.close();
});
