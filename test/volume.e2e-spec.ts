import { randomBytes } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SandboxHandle } from '#libs/contract';
import type { RunnerConnection } from '#libs/protocol';
import { runnerSandboxName } from '../src/runner/index.js';
import { collect, digest, sha256 } from './support/collect.js';
import { DaemonProcess } from './support/daemon-process.js';
import { refusal } from './support/errors.js';
import { gate } from './support/gate.js';
import { TestApp } from './support/nest-app.js';
import { residentBytes } from './support/processes.js';
import { RunnerSandbox } from './support/runner-sandbox.js';
import { RUNNER_ID } from './support/runners.js';
import { TcpProxy } from './support/tcp-proxy.js';
import { settles, until } from './support/until.js';

const MINUTE = 60_000;
const MiB = 1024 * 1024;

let runner: RunnerSandbox;
let app: TestApp;
let daemon: DaemonProcess;
let handle: SandboxHandle;

beforeAll(async () => {
  // So many commands at once may keep a busy machine from telling of one in time what its deadline did to it.
  runner = await RunnerSandbox.start({ runners: { limits: { transportGraceMs: MINUTE } } });
  ({ app, daemon, handle } = runner);
  // Whatever is made once, at the first use, is there from here on.
  await app.sandboxes.exec(handle, 'true', []);
  await (await app.sandboxes.spawn(handle, 'true', [])).drain();
});

afterAll(async () => {
  await runner?.[Symbol.asyncDispose]();
});

/** Runs `job` for 0 … `count` - 1, `width` at a time. */
async function parallel(count: number, width: number, job: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await job(next++);
  };
  await Promise.all(Array.from({ length: width }, lane));
}

/** What keeps this process busy, by kind. */
function resources(): Record<string, number> {
  const kinds: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) kinds[kind] = (kinds[kind] ?? 0) + 1;
  return kinds;
}

function connection(): RunnerConnection {
  return app.host.links.at(-1) as unknown as RunnerConnection;
}

/** Everything that the platform holds for others, by kind. */
function counts(): unknown {
  const { pending, unsent, sessions, subscribers, queuedBytes, timers } = connection().stats();
  return {
    gateway: app.gateway.stats(),
    connection: { pending, unsent, sessions, subscribers, queuedBytes, timers },
    resources: resources(),
  };
}

describe('many', () => {
  test(
    '2 000 × spawn echo ok, 50 at a time: 2 000 × ok and exit 0; and all that they needed is given back',
    async () => {
      const before = counts();
      const seen = new Map<string, number>();
      await parallel(2_000, 50, async () => {
        const { stdout, stderr, exit, completed } = await collect(await app.sandboxes.spawn(handle, 'echo', ['ok']));
        const outcome = JSON.stringify([stdout.toString(), stderr.toString(), exit, completed]);
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      });
      expect([...seen]).toEqual([[JSON.stringify(['ok\n', '', { exitCode: 0 }, true]), 2_000]]);
      await until('everything is what it was', () => JSON.stringify(counts()) === JSON.stringify(before)).catch(
        () => {},
      );
      expect(counts()).toEqual(before);
    },
    3 * MINUTE,
  );

  test(
    '2 000 × exec, 50 at a time, a third of them refused, timed out or aborted; and all that they needed is given back',
    async () => {
      const before = counts();
      const seen: Record<string, number> = {};
      await parallel(2_000, 50, async (i) => {
        const kind = i % 9 === 0 ? 'refused' : i % 9 === 1 ? 'aborted' : i % 90 === 2 ? 'timed out' : 'fine';
        const options = {
          refused: { dir: 'nowhere' },
          aborted: { signal: AbortSignal.abort() },
          'timed out': { timeoutMs: 200 },
          fine: {},
        }[kind];
        const args = kind === 'timed out' ? ['3600'] : ['0'];
        const outcome = await refusal(
          app.sandboxes.exec(handle, 'sleep', args, options).then((result) => result.exitCode),
        );
        const key = `${kind}: ${JSON.stringify(outcome)}`;
        seen[key] = (seen[key] ?? 0) + 1;
      });
      expect(seen).toEqual({
        'fine: {"resolved":0}': 2_000 - 223 - 223 - 23,
        'refused: {"code":"invalid","detail":"no_such_directory","effect":"none"}': 223,
        'aborted: {"code":"aborted","effect":"none"}': 223,
        'timed out: {"code":"unavailable","detail":"timeout","effect":"done"}': 23,
      });
      await until('everything is what it was', () => JSON.stringify(counts()) === JSON.stringify(before)).catch(
        () => {},
      );
      expect(counts()).toEqual(before);
    },
    3 * MINUTE,
  );
});

describe('much', () => {
  test(
    '300 × a command that prints 5 000 000 bytes and exits 3: every byte, code 3',
    async () => {
      const bytes = 5_000_000;
      const expected = JSON.stringify([{ bytes, sha256: sha256(Buffer.alloc(bytes, 'a')) }, 0, { exitCode: 3 }]);
      const seen = new Map<string, number>();
      await parallel(300, 4, async (i) => {
        const script = `head -c ${bytes} /dev/zero | tr '\\0' a; exit 3`;
        const outcome =
          i % 2 === 0
            ? await digest(await app.sandboxes.spawn(handle, 'bash', ['-c', script])).then(
                ({ exit, stdout, stderr }) => [stdout, stderr.bytes, exit],
              )
            : await app.sandboxes
                .exec(handle, 'bash', ['-c', script])
                .then(({ output, stderr, exitCode }) => [
                  { bytes: output.byteLength, sha256: sha256(output) },
                  stderr?.byteLength,
                  { exitCode },
                ]);
        const key = JSON.stringify(outcome);
        seen.set(key, (seen.get(key) ?? 0) + 1);
      });
      expect([...seen]).toEqual([[expected, 300]]);
    },
    5 * MINUTE,
  );

  test(
    '50 MB through cat with a reader that sleeps until every byte was written: identical',
    async () => {
      const input = randomBytes(50 * MiB);
      const command = await app.sandboxes.spawn(handle, 'cat', [], { stdin: true });
      const wake = gate();
      let frames = 0;
      const seen = digest({
        forEach: (sink) =>
          command.forEach(async (frame) => {
            frames += 1;
            if (frames === 1) await wake.opened;
            await sink(frame);
          }),
      });
      for (let at = 0; at < input.byteLength; at += MiB) await command.writeStdin(input.subarray(at, at + MiB));
      await command.closeStdin();
      expect(frames).toBe(1);
      wake.open();
      const { stdout, exit } = await seen;
      expect([stdout, exit]).toEqual([{ bytes: input.byteLength, sha256: sha256(input) }, { exitCode: 0 }]);
    },
    2 * MINUTE,
  );

  test(
    'a reader that sleeps until the journal is full stops the process, and loses nothing',
    async () => {
      const bytes = 300_000_000;
      const journals = join(daemon.root, '.runner', 'sessions');
      const before = await sizeOf(journals);
      const command = await app.sandboxes.spawn(handle, 'head', ['-c', String(bytes), '/dev/zero']);
      const wake = gate();
      let frames = 0;
      const seen = digest({
        forEach: (sink) =>
          command.forEach(async (frame) => {
            frames += 1;
            if (frames === 1) await wake.opened;
            await sink(frame);
          }),
      });
      const resident = await residentBytes(daemon.pid);
      let size = 0;
      await until(
        'the journal has stopped growing',
        async () => {
          const last = size;
          size = (await sizeOf(journals)) - before;
          return size > 200 * MiB && size === last;
        },
        { everyMs: 500, withinMs: MINUTE },
      );
      expect(size).toBeLessThan(bytes);
      expect(size).toBeLessThan(256 * MiB + 2 * MiB);
      expect((await residentBytes(daemon.pid)) - resident).toBeLessThan(64 * MiB);
      expect(connection().stats().queuedBytes).toBeLessThan(4 * MiB + 256 * 1024);
      expect((await settles('an exec meanwhile', app.sandboxes.exec(handle, 'echo', ['free']), 5_000)).text()).toBe(
        'free\n',
      );
      wake.open();
      const { stdout, exit } = await seen;
      expect([stdout, exit]).toEqual([{ bytes, sha256: sha256(Buffer.alloc(bytes)) }, { exitCode: 0 }]);
    },
    3 * MINUTE,
  );

  test(
    'one reader that has stopped keeps no other from the same output, and none from theirs',
    async () => {
      const bytes = 40_000_000;
      const command = await app.sandboxes.spawn(handle, 'bash', ['-c', `read go; head -c ${bytes} /dev/zero; exit 4`], {
        stdin: true,
        detachable: true,
      });
      const second = digest(await app.sandboxes.attach(handle, command.sessionId as string));
      const never = gate();
      const stuck = digest({ forEach: (sink) => command.forEach((frame) => never.opened.then(() => sink(frame))) });
      await command.writeStdin('go\n');
      const expected = [{ bytes, sha256: sha256(Buffer.alloc(bytes)) }, { exitCode: 4 }];
      const { stdout, exit } = await settles('the other reader', second, 30_000);
      expect([stdout, exit]).toEqual(expected);
      never.open();
      const late = await stuck;
      expect([late.stdout, late.exit]).toEqual(expected);
    },
    2 * MINUTE,
  );

  test(
    'frames$ of someone who keeps up is exact too',
    async () => {
      const bytes = 60_000_000;
      const seen = await collect(await app.sandboxes.spawn(handle, 'head', ['-c', String(bytes), '/dev/zero']));
      expect([seen.stdout.byteLength, seen.stdout.every((byte) => byte === 0), seen.exit]).toEqual([
        bytes,
        true,
        { exitCode: 0 },
      ]);
    },
    2 * MINUTE,
  );
});

test(
  'a slow link cuts nothing: 2 000 000 numbers through 4 MB/s',
  async () => {
    const own = await TestApp.start();
    const proxy = await TcpProxy.listen(own.port);
    proxy.throttle(4_000_000);
    const slow = await DaemonProcess.launch({ url: proxy.url });
    await own.online(RUNNER_ID);
    const its = await own.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
    const expected = Buffer.from(Array.from({ length: 2_000_000 }, (_, i) => `${i + 1}\n`).join(''));
    const command = await own.sandboxes.spawn(its, 'seq', ['1', '2000000']);
    const seen = digest(command);
    expect((await own.sandboxes.exec(its, 'echo', ['beside'])).text()).toBe('beside\n');
    const { stdout, exit } = await seen;
    expect([stdout, exit]).toEqual([{ bytes: expected.byteLength, sha256: sha256(expected) }, { exitCode: 0 }]);
    await slow.dispose();
    await own.close();
    await proxy.close();
  },
  2 * MINUTE,
);

/** Bytes in all files below `directory`. */
async function sizeOf(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    entries.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      return entry.isFile()
        ? stat(path).then(
            ({ size }) => size,
            () => 0,
          )
        : 0;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
