import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Bytes } from '#libs/contract';
import type { ConformanceCase } from '../conformance-case.js';
import { expectBytes, expectEqual, expectRejection, expectThat } from '../expect.js';
import { ALL_BYTES, noise } from '../samples.js';
import { expectExit, start, startEcho, startPlainPuppet } from '../session.js';
import { puppetLine } from '../vocabulary.js';

const KiB = 1024;

export const stdinCases: readonly ConformanceCase[] = [
  {
    id: 'STD-001',
    title: 'writes to stdin in the order of the calls, awaited or not, and ends it behind them',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const { command, reading } = await startEcho(t);
      const lines = Array.from({ length: 1000 }, (_, i) => `${i}\n`);
      await Promise.all([...lines.map((line) => command.writeStdin(line)), command.closeStdin()]);
      await expectExit(reading, 0, lines.join(''));
    },
  },
  {
    id: 'STD-002',
    title: 'ends stdin when it is closed, also when nothing was written',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const { command, reading } = await start(t, await t.sandbox(), t.words.countStdin(), { stdin: true });
      await command.closeStdin();
      expectEqual('exit', await t.within('the exit', 10_000, reading.exit()), { exitCode: 0 });
      expectBytes('output', reading.stdout, '0\n');
    },
  },
  {
    id: 'STD-003',
    title: 'keeps stdin open until it is closed',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const { command, reading } = await startPlainPuppet(t);
      for (let i = 0; i < 20; i++) {
        await command.writeStdin(puppetLine({ out: `${i};` }));
        await reading.shows(`${i};`);
      }
      await command.writeStdin(puppetLine({ exit: 4 }));
      await expectExit(reading, 4);
    },
  },
  {
    id: 'STD-004',
    title: 'carries every byte value through stdin, and text as UTF-8',
    level: 'MUST',
    promise: 'bytes',
    async run(t) {
      const { command, reading } = await startEcho(t);
      const pieces: readonly Bytes[] = [ALL_BYTES, 'é€😀\r\n', '', new Uint8Array(), noise(5000).subarray(3, 4099)];
      for (const piece of pieces) await command.writeStdin(piece);
      await command.closeStdin();
      await expectExit(reading, 0, Buffer.concat(pieces.map((piece) => Buffer.from(piece))));
    },
  },
  {
    id: 'STD-005',
    title: 'carries in one write more than fits into one request',
    level: 'MUST',
    promise: 'bytes',
    async run(t) {
      const { command, reading } = await startEcho(t, 'stderr');
      const data = noise(600 * KiB + 1, 7);
      await Promise.all([command.writeStdin(data), command.writeStdin('behind'), command.closeStdin()]);
      await expectExit(reading, 0);
      const output = t.tells.stderrApart ? reading.stderr : reading.stdout;
      expectBytes('output', output, Buffer.concat([data, Buffer.from('behind')]));
    },
  },
  {
    id: 'STD-006',
    title: 'carries 10 MB through stdin and back as they were written',
    level: 'MUST',
    promise: 'bytes',
    timeoutMs: 90_000,
    async run(t) {
      const data = noise(t.volume(10_000_000), 8);
      const { command, reading } = await startEcho(t);
      const step = 100_000;
      for (let at = 0; at < data.byteLength; at += step) await command.writeStdin(data.subarray(at, at + step));
      await command.closeStdin();
      await expectExit(reading, 0, data);
    },
  },
  {
    id: 'STD-007',
    title: 'gives stdin as a Writable whose end is the end of stdin',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const { command, reading } = await startEcho(t);
      const { stdin } = command;
      expectThat('stdin', stdin instanceof Writable, 'a Writable', stdin);
      const pieces = Array.from({ length: 20 }, (_, i) => noise(30_000, i + 1));
      await pipeline(Readable.from(pieces), stdin);
      await expectExit(reading, 0, Buffer.concat(pieces));
    },
  },
  {
    id: 'STD-008',
    title: 'takes a second close of stdin, and one after the exit',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const { command, reading } = await startEcho(t);
      await Promise.all([command.closeStdin(), command.closeStdin()]);
      await expectExit(reading, 0);
      await command.closeStdin();
      const ended = await t.spawn(command.handle, t.words.print({}), { stdin: true });
      await ended.drain();
      await ended.closeStdin();
    },
  },
  {
    id: 'STD-009',
    title: 'refuses a write after stdin was closed',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.stay(), { stdin: true });
      await command.closeStdin();
      const refusal = { code: 'invalid', detail: 'stdin_closed', effect: 'none' } as const;
      await expectRejection('writeStdin', command.writeStdin('late'), refusal);
    },
  },
  {
    id: 'STD-010',
    title: 'refuses to write to a stdin that was not opened',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.stay());
      const refusal = { code: 'invalid', detail: 'stdin_not_open', effect: 'none' } as const;
      await expectRejection('writeStdin', command.writeStdin('x'), refusal);
      expectEqual('stdin', command.stdin, undefined);
    },
  },
  {
    id: 'STD-011',
    title: 'answers writes after the exit with command_exited, however many',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.print({}), { stdin: true });
      await command.drain();
      const writes = Array.from({ length: 20 }, (_, i) =>
        expectRejection(`write ${i}`, command.writeStdin('late'), { code: 'command_exited', effect: 'none' }),
      );
      await t.within('the answers', 5_000, Promise.all(writes));
    },
  },
  {
    id: 'STD-012',
    title: 'refuses what is neither bytes nor text, and writes nothing of it',
    level: 'MUST',
    promise: 'errors',
    async run(t) {
      const { command, reading } = await startEcho(t);
      const refusal = { code: 'invalid', detail: 'argument', effect: 'none' } as const;
      for (const data of [undefined, null, 7, ['x'], { length: 1 }, '\uD800']) {
        await expectRejection('writeStdin', command.writeStdin(data as string), refusal);
      }
      const badSignal = { signal: 'now' as unknown as AbortSignal };
      await expectRejection('a signal that is none', command.writeStdin('x', badSignal), refusal);
      await expectRejection('a signal that is none', command.closeStdin(badSignal), refusal);
      await command.writeStdin('good');
      await command.closeStdin();
      await expectExit(reading, 0, 'good');
    },
  },
  {
    id: 'STD-022',
    title: 'writes what is given with the end of the Writable, and ends stdin behind it',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const { command, reading } = await startEcho(t);
      const { stdin } = command;
      expectThat('stdin', stdin instanceof Writable, 'a Writable', stdin);
      stdin.write('first ');
      stdin.end('last');
      await expectExit(reading, 0, 'first last');
    },
  },
];
