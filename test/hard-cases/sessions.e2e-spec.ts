import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SandboxCommand, SandboxError, SandboxHandle } from '#libs/contract';
import { JournalReader, LocalKeeper } from '#libs/process';
import type { RunnerConnection } from '#libs/protocol';
import { runnerSandboxName } from '../../src/runner/index.js';
import { collect, digest, sha256 } from '../support/collect.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { refusal } from '../support/errors.js';
import { TestApp } from '../support/nest-app.js';
import { RunnerSandbox } from '../support/runner-sandbox.js';
import { OTHER_RUNNER_ID, OTHER_RUNNER_TOKEN, RUNNER_ID, RUNNER_TOKEN } from '../support/runners.js';
import { base64, ScriptedDaemon } from '../support/scripted-daemon.js';
import { tempDir } from '../support/temp-dir.js';
import { settles, until } from '../support/until.js';

const MiB = 1024 * 1024;

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

describe('an exit while reading is paused', () => {
  const LIMITS = { segmentBytes: 64 * 1024, journalBytes: 256 * 1024 };
  /** More than the journal takes; the last of it fits into the pipe, so that the process ends without being read. */
  const BYTES = 300_000;

  /** Nothing else happens in this process meanwhile. */
  function block(ms: number): void {
    const endAt = performance.now() + ms;
    while (performance.now() < endAt);
  }

  test('and the loop is blocked for 400 ms loses no byte and no exit code', async () => {
    const directory = await tempDir('paused');
    const keeper = await LocalKeeper.open({ root: directory.path, limits: LIMITS });
    await keeper.create('box');
    const blocked = { before: false, after: false };
    let isOver = false;
    const ended = new Promise<void>((resolve) => {
      keeper.onTail(({ offsets, ended: end }) => {
        isOver ||= end !== undefined;
        if (isOver) resolve();
        // Reading is paused here; the process ends while nothing is looked at.
        else if (offsets.stdout >= LIMITS.journalBytes && !blocked.before) {
          blocked.before = true;
          writeFileSync(join(directory.path, 'box', 'go'), '');
          block(400);
        }
      });
    });
    /** Between the exit, which makes it read on, and the next look at the pipe. */
    const watch = (): void => {
      if (isOver) return;
      if (keeper.stats().running > 0) return void setImmediate(watch);
      blocked.after = true;
      block(400);
    };
    const print = (bytes: number) => `head -c ${bytes} /dev/zero | tr '\\0' a`;
    const first = BYTES - 30_000;
    const script = `${print(first)}; until [ -e go ]; do sleep 0.01; done; ${print(BYTES - first)}; exit 7`;
    const { id } = await keeper.start({ sandbox: 'box', cmd: 'sh', args: ['-c', script], env: [] });
    keeper.reach('box', id, 'hold');
    watch();
    await settles('the end', ended, 20_000);
    const view = await keeper.journal('box', id);
    expect([view.ended, view.offsets]).toEqual([{ exit: { exitCode: 7 } }, { stdout: BYTES, stderr: 0 }]);
    expect(blocked).toEqual({ before: true, after: true });
    const reader = await JournalReader.open(view, 'oldest');
    let bytes = 0;
    for (;;) {
      const records = await reader.read(view.position, MiB);
      if (records.length === 0) break;
      for (const record of records) {
        if (record.type === 'end') continue;
        expect(record.data.every((byte) => byte === 0x61)).toBe(true);
        bytes += record.data.length;
      }
    }
    await reader.close();
    expect(bytes).toBe(BYTES);
    await keeper.close();
    await directory.remove();
  });
});

describe('detach and attach', () => {
  test('at once, 1 000 times: every byte once, in order, and the exit', async () => {
    const script = 'i=0; until [ -e enough ]; do i=$((i+1)); echo $i; done; exit 9';
    let command = await app.sandboxes.spawn(handle, 'bash', ['-c', script], { detachable: true });
    const id = command.sessionId as string;
    const pieces: Uint8Array[] = [];
    let offset = 0;
    for (let round = 0; round < 1_000; round += 1) {
      for await (const frame of command) {
        if (frame.type === 'exit') throw new Error(`it ended with ${frame.exitCode}`);
        expect(frame.offset).toBe(offset);
        pieces.push(frame.data);
        offset += frame.data.byteLength;
        break;
      }
      const left = command.stop();
      command = await app.sandboxes.attach(handle, id, { from: { stdout: offset } });
      // The one that leaves and the one that comes are under way at the same time.
      await left;
    }
    await app.sandboxes.writeFile(handle, 'enough', '');
    const exit = await command.forEach((frame) => {
      expect(frame.offset).toBe(offset);
      pieces.push(frame.data);
      offset += frame.data.byteLength;
    });
    expect(exit).toEqual({ exitCode: 9 });
    const text = Buffer.concat(pieces).toString();
    const count = text.split('\n').length - 1;
    expect(count).toBeGreaterThan(1_000);
    expect(text === Array.from({ length: count }, (_, i) => `${i + 1}\n`).join('')).toBe(true);
    expect((await collect(await app.sandboxes.attach(handle, id))).stdout.equals(Buffer.from(text))).toBe(true);
  }, 300_000);
});

describe('a spawn aborted before its reply', () => {
  const PIECE = 64 * 1024;
  const PIECES = (20 * MiB) / PIECE;

  function linkOf(runnerId: string): RunnerConnection {
    return app.host.links.findLast((link) => link.runnerId === runnerId) as unknown as RunnerConnection;
  }

  test('and 20 MB of its output that come all the same disturb nobody', async () => {
    const scripted = await ScriptedDaemon.connect({
      url: app.url,
      token: OTHER_RUNNER_TOKEN,
      name: 'late',
      instance: 'i-late',
    });
    await app.online(OTHER_RUNNER_ID);
    const its = app.sandboxes.buildHandle('runner', runnerSandboxName(OTHER_RUNNER_ID));
    const controller = new AbortController();
    const spawn = refusal(app.sandboxes.spawn(its, 'x', [], { signal: controller.signal }));
    const request = await scripted.next('spawn');
    controller.abort();
    expect(await spawn).toEqual({ code: 'aborted', detail: undefined, effect: 'unknown' });
    const data = base64(randomBytes(PIECE));
    const say = (from: number, to: number): void => {
      for (let i = from; i < to; i += 1)
        scripted.send({ stream: 'stdout', session_id: 's-late', data, offset: i * PIECE });
    };
    scripted.ok(request, { session_id: 's-late' });
    say(0, PIECES / 2);
    const detach = await scripted.next('detach');
    expect(detach).toMatchObject({ session_id: 's-late' });
    scripted.ok(detach);
    say(PIECES / 2, PIECES);
    scripted.send({ stream: 'exit', session_id: 's-late', code: 0 });
    const call = app.sandboxes.exec(its, 'y', []);
    scripted.ok(await scripted.next('exec'), { output: base64('still here'), code: 0 });
    expect((await settles('the exec behind it', call)).text()).toBe('still here');
    expect(await app.isOnline(OTHER_RUNNER_ID)).toBe(true);
    const { unknown, sessions, subscribers, pending, timers } = linkOf(OTHER_RUNNER_ID).stats();
    expect({ unknown, sessions, subscribers, pending, timers }).toEqual({
      unknown: 0,
      sessions: 0,
      subscribers: 0,
      pending: 0,
      // Ping, silence and heartbeat.
      timers: 3,
    });
    await scripted.close();
  });

  test('by the real daemon: the command goes, the connection and its neighbours stay', async () => {
    const links = app.host.links.length;
    const marker = `aborted-${randomBytes(4).toString('hex')}`;
    const neighbour = digest(await app.sandboxes.spawn(handle, 'head', ['-c', '20000000', '/dev/zero']));
    for (let i = 0; i < 20; i += 1) {
      const controller = new AbortController();
      const spawn = refusal(app.sandboxes.spawn(handle, 'yes', [marker], { signal: controller.signal }));
      // The request is on the wire, its reply is not here yet.
      setImmediate(() => controller.abort());
      const outcome = (await spawn) as { code?: string; resolved?: SandboxCommand };
      expect(outcome.resolved === undefined ? outcome.code : 'spawned').toMatch(/^(aborted|spawned)$/);
      await outcome.resolved?.stop();
    }
    const { stdout, exit } = await neighbour;
    expect([stdout, exit]).toEqual([{ bytes: 20_000_000, sha256: sha256(Buffer.alloc(20_000_000)) }, { exitCode: 0 }]);
    await until('none of them runs', async () => {
      const { exitCode } = await app.sandboxes.exec(handle, 'pgrep', ['-f', `^yes ${marker}`]);
      return exitCode === 1;
    });
    expect([app.host.links.length, await app.isOnline(RUNNER_ID)]).toEqual([links, true]);
  });
});

describe('an attach', () => {
  test('past the end is refused, also of a session that ended; at the end it is just the exit', async () => {
    const command = await app.sandboxes.spawn(handle, 'echo', ['12345'], { detachable: true });
    const id = command.sessionId as string;
    expect(await command.drain()).toEqual({ exitCode: 0 });
    const beyond = { code: 'invalid', detail: 'offset_beyond_end', effect: 'none' };
    for (const from of [{ stdout: 7 }, { stderr: 1 }, { stdout: Number.MAX_SAFE_INTEGER }]) {
      expect(await refusal(app.sandboxes.attach(handle, id, { from }))).toEqual(beyond);
    }
    const last = await collect(await app.sandboxes.attach(handle, id, { from: { stdout: 6 } }));
    expect(last.frames).toEqual([{ type: 'exit', exitCode: 0 }]);
  });

  test('from what is no longer kept is truncated and names what is; from there it gets the rest and the exit', async () => {
    const BYTES = 300_000_000;
    const script = `head -c ${BYTES} /dev/zero; touch all-written; read -r go <gate; echo end; exit 5`;
    await app.sandboxes.exec(handle, 'mkfifo', ['gate']);
    const command = await app.sandboxes.spawn(handle, 'bash', ['-c', script], { detachable: true });
    const id = command.sessionId as string;
    await command.stop();
    await until(
      'it has written everything',
      async () => {
        const { exitCode } = await app.sandboxes.exec(handle, 'test', ['-e', 'all-written']);
        return exitCode === 0;
      },
      { withinMs: 60_000, everyMs: 100 },
    );
    const error = await app.sandboxes.attach(handle, id).then(
      () => undefined,
      (reason: unknown) => reason as SandboxError,
    );
    expect(error).toMatchObject({ code: 'truncated', detail: 'replay_evicted', effect: 'none' });
    const { oldest } = (error as SandboxError).cause as { oldest: { stdout: number; stderr: number } };
    expect(oldest.stdout).toBeGreaterThan(BYTES - 256 * MiB - 1);
    expect(oldest.stdout).toBeLessThan(BYTES);
    const beyond = { from: { stdout: BYTES + 1 } };
    expect(await refusal(app.sandboxes.attach(handle, id, beyond))).toMatchObject({ detail: 'offset_beyond_end' });
    const again = await app.sandboxes.attach(handle, id, { from: oldest });
    let next = oldest.stdout;
    let ending = '';
    const reading = again.forEach((frame) => {
      expect(frame.offset).toBe(next);
      next += frame.data.byteLength;
      if (next > BYTES) ending += Buffer.from(frame.data).toString().replaceAll('\0', '');
    });
    await app.sandboxes.exec(handle, 'bash', ['-c', 'echo go >gate']);
    expect(await reading).toEqual({ exitCode: 5 });
    expect([next, ending]).toEqual([BYTES + 4, 'end\n']);
  }, 120_000);
});

describe('stdin with two who want it', () => {
  const NOT_OPEN = { code: 'invalid', detail: 'stdin_not_open', effect: 'none' };

  test('belongs to the later attach; what the earlier one writes then reaches nobody', async () => {
    const first = await app.sandboxes.spawn(handle, 'cat', [], { stdin: true, detachable: true });
    const id = first.sessionId as string;
    await first.writeStdin('first ');
    const second = await app.sandboxes.attach(handle, id, { stdin: true });
    const seen = collect(first);
    expect(await refusal(first.writeStdin('LOST '))).toEqual(NOT_OPEN);
    expect(await refusal(first.closeStdin())).toEqual(NOT_OPEN);
    await second.writeStdin('second ');
    const third = await app.sandboxes.attach(handle, id, { stdin: true });
    expect(await refusal(second.writeStdin('LOST '))).toEqual(NOT_OPEN);
    await third.writeStdin('third');
    await third.closeStdin();
    const { stdout, exit } = await seen;
    expect([stdout.toString(), exit]).toEqual(['first second third', { exitCode: 0 }]);
    await Promise.all([second.drain(), third.drain()]);
  });
});

test('a root whose path has 150 characters serves commands, stdin, files and sessions', async () => {
  const directory = await tempDir('long');
  const root = `${directory.path}/`.padEnd(150, 'long-');
  expect(root).toHaveLength(150);
  const own = await TestApp.start();
  const its = await DaemonProcess.launch({ url: own.url, root, token: RUNNER_TOKEN });
  await own.online(RUNNER_ID);
  const box = await own.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
  const home = await own.sandboxes.hostPath(box, '~');
  expect(home.startsWith(`${root}/`)).toBe(true);
  expect((await own.sandboxes.exec(box, 'pwd', [])).text()).toBe(`${home}\n`);
  expect((await own.sandboxes.exec(box, 'bash', ['/dev/stdin'], { stdin: 'echo in' })).text()).toBe('in\n');
  await own.sandboxes.writeFile(box, 'deep/file', 'kept');
  const command = await own.sandboxes.spawn(box, 'bash', ['-c', 'cat deep/file; read -r x; exit 3'], {
    stdin: true,
    detachable: true,
  });
  await command.stop();
  const again = await own.sandboxes.attach(box, command.sessionId as string, { stdin: true });
  await again.writeStdin('\n');
  const { stdout, exit } = await collect(again);
  expect([stdout.toString(), exit]).toEqual(['kept', { exitCode: 3 }]);
  await own.sandboxes.destroy(box);
  expect(await own.sandboxes.listAllNames('runner')).toEqual([]);
  await its.dispose();
  await own.close();
  await directory.remove();
});
