import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { runnerSandboxName } from '../../src/runner/index.js';
import { collect } from '../support/collect.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { refusal, words } from '../support/errors.js';
import { TestApp } from '../support/nest-app.js';
import { appeared, sleepMarker } from '../support/processes.js';
import { RUNNER_ID } from '../support/runners.js';
import { settles, until } from '../support/until.js';
import { Switchboard } from './switchboard.js';

let board: Switchboard;
let daemon: DaemonProcess;
let first: TestApp;
let second: TestApp;

/** The daemon is connected to the first platform; whatever dials once that is lost comes to the second. */
beforeEach(async () => {
  [board, first, second] = await Promise.all([
    Switchboard.listen(),
    TestApp.start({ runners: { drainMs: 200 } }),
    TestApp.start(),
  ]);
  board.target = first.port;
  daemon = await DaemonProcess.launch({ url: board.url });
  await first.online(RUNNER_ID);
  board.target = second.port;
});

afterEach(async () => {
  await daemon?.dispose();
  await Promise.all([first?.close(), second?.close()]);
  await board?.close();
});

test('bug 5: a platform that vanishes in mid-stream is no end of the command; the next one gets all and the true exit', async () => {
  const handle = await first.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
  const home = await first.sandboxes.hostPath(handle, '/home/sprite');
  const script = 'i=0; until [ -e end ] && [ $i -gt 20 ]; do i=$((i+1)); echo $i; sleep 0.02; done; exit 6';
  const command = await first.sandboxes.spawn(handle, 'bash', ['-c', script], { detachable: true });
  const marker = sleepMarker();
  const silent = await first.sandboxes.spawn(handle, 'sleep', [marker], { detachable: true });
  const [silentPid] = await appeared(marker);
  const seen = collect(command);
  await until('the command has been heard', () => first.gateway.stats().sessions === 2);
  board.hangUp();
  const cut = await settles('the stream', seen);
  expect([words(cut.error), cut.exit, cut.completed]).toEqual([
    expect.objectContaining({ code: 'unavailable', detail: 'runner_disconnected' }),
    undefined,
    false,
  ]);

  await second.online(RUNNER_ID);
  const listed = (await second.sandboxes.listSessions(handle)).map((session) => session.id);
  expect(new Set(listed)).toEqual(new Set([command.sessionId, silent.sessionId]));
  expect(await appeared(marker)).toEqual([silentPid]);
  const again = collect(await second.sandboxes.attach(handle, command.sessionId as string));
  await writeFile(join(home, 'end'), '');
  const { stdout, exit } = await settles('the stream that was attached', again);
  const lines = stdout.toString().trimEnd().split('\n');
  expect(lines).toEqual(lines.map((_, i) => `${i + 1}`));
  expect(lines.length).toBeGreaterThan(20);
  expect(exit).toEqual({ exitCode: 6 });
});

test('bug 25: a platform that shuts down tells every caller once, and what ran is attached to at the next one', async () => {
  const handle = await first.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
  const marker = sleepMarker();
  const execs = Array.from({ length: 5 }, () => refusal(first.sandboxes.exec(handle, 'sleep', [marker])));
  const script = 'echo "$1"; read line; echo "$line"; exit 7';
  const commands = await Promise.all(
    ['a', 'b', 'c', 'd', 'e'].map((word) =>
      first.sandboxes.spawn(handle, 'bash', ['-c', script, 'bash', word], { stdin: true, detachable: true }),
    ),
  );
  const streams = commands.map((command) => collect(command));
  await appeared(marker, 5);
  await settles('the first platform', first.close(), 10_000);
  for (const outcome of await Promise.all(execs)) expect(outcome).toMatchObject({ code: 'unavailable' });
  for (const { error, exit } of await Promise.all(streams)) {
    expect([words(error), exit]).toEqual([expect.objectContaining({ code: 'unavailable' }), undefined]);
  }
  expect(daemon.ended).toBeUndefined();

  await second.online(RUNNER_ID);
  const seen = await Promise.all(
    commands.map(async ({ sessionId }) => {
      const attached = await second.sandboxes.attach(handle, sessionId as string, { stdin: true });
      const all = collect(attached);
      await attached.writeStdin('more\n');
      return all;
    }),
  );
  expect(seen.map(({ stdout, exit }) => `${stdout.toString()}${exit?.exitCode}`)).toEqual(
    ['a', 'b', 'c', 'd', 'e'].map((word) => `${word}\nmore\n7`),
  );
});
