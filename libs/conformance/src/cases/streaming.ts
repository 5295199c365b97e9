import type { ConformanceCase } from '../conformance-case.js';
import { expectBytes, expectEqual, expectThat } from '../expect.js';
import { ALL_BYTES, expectPattern, noise } from '../samples.js';
import { expectExit, startPlainPuppet } from '../session.js';
import { readPattern } from '../standstill.js';
import { puppetLine } from '../vocabulary.js';

export const streamingCases: readonly ConformanceCase[] = [
  {
    id: 'STR-001',
    title: 'delivers output while the command runs, and each stream from offset 0 without a gap',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const { command, reading } = await startPlainPuppet(t);
      for (const piece of ['one', 'two', 'three']) {
        await command.writeStdin(puppetLine({ out: piece }));
        await reading.shows(piece);
        await command.writeStdin(puppetLine({ err: piece }));
        await reading.shows(piece, t.tells.stderrApart ? 'stderr' : 'stdout');
      }
      await command.writeStdin(puppetLine({ exit: 7 }));
      await expectExit(reading, 7);
      if (!t.tells.stderrApart) return expectBytes('output', reading.stdout, 'oneonetwotwothreethree');
      expectBytes('stdout', reading.stdout, 'onetwothree');
      expectBytes('stderr', reading.stderr, 'onetwothree');
    },
  },
  {
    id: 'STR-002',
    title: 'delivers all of the output before the exit, however soon the command ends',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const handle = await t.sandbox();
      for (let i = 0; i < 10; i++) {
        const short = await t.run(handle, t.words.print({ stdout: `last words ${i}`, exitCode: i }));
        await expectExit(short, i, `last words ${i}`);
        const long = await t.run(handle, t.words.lines(200_001));
        await expectExit(long, 0);
        expectEqual('bytes', long.bytes, 200_001);
        expectPattern(long.stdout, 0);
      }
    },
  },
  {
    id: 'STR-003',
    title: 'leaves a character that is written in two parts as it is',
    level: 'MUST',
    promise: 'bytes',
    async run(t) {
      const { command, reading } = await startPlainPuppet(t);
      const text = Buffer.from('€😀é');
      for (let at = 0; at < text.byteLength; at++) {
        await command.writeStdin(puppetLine({ out: text.subarray(at, at + 1) }));
        await reading.until(`${at + 1} bytes have come`, () => reading.bytes === at + 1);
      }
      await command.closeStdin();
      await expectExit(reading, 0, text);
    },
  },
  {
    id: 'STR-004',
    title: 'delivers bytes of any value on both streams as they were written',
    level: 'MUST',
    promise: 'bytes',
    async run(t) {
      const stdout = Buffer.concat([ALL_BYTES, noise(2000, 3)]);
      const stderr = Buffer.concat([noise(2000, 4), ALL_BYTES]);
      const reading = await t.run(await t.sandbox(), t.words.print({ stdout, stderr }));
      await expectExit(reading, 0);
      if (!t.tells.stderrApart) return expectEqual('bytes', reading.bytes, stdout.byteLength + stderr.byteLength);
      expectBytes('stdout', reading.stdout, stdout);
      expectBytes('stderr', reading.stderr, stderr);
    },
  },
  {
    id: 'STR-005',
    title: 'delivers 100 MB as they were written',
    level: 'MUST',
    promise: 'bytes',
    timeoutMs: 120_000,
    async run(t) {
      const bytes = t.volume(100_000_000);
      const command = await t.spawn(await t.sandbox(), t.words.lines(bytes));
      const reading = readPattern(t, command);
      await expectExit(reading, 0);
      expectEqual('bytes', reading.bytes, bytes);
      expectEqual('outputBytes', command.outputBytes, bytes);
    },
  },
  {
    id: 'STR-006',
    title: 'delivers a line of 20 MB',
    level: 'MUST',
    promise: 'bytes',
    timeoutMs: 60_000,
    async run(t) {
      const bytes = t.volume(20_000_000);
      const reading = await t.run(await t.sandbox(), t.words.longLine(bytes));
      await expectExit(reading, 0);
      expectBytes('the line', reading.stdout, Buffer.alloc(bytes, 'x'));
    },
  },
  {
    id: 'STR-007',
    title: 'delivers 100 000 tiny writes in their order',
    level: 'MUST',
    promise: 'bytes',
    timeoutMs: 60_000,
    async run(t) {
      const last = t.volume(100_000);
      const reading = await t.run(await t.sandbox(), t.words.count(last));
      await expectExit(reading, 0);
      expectBytes('stdout', reading.stdout, numbers(1, last, 1));
    },
  },
  {
    id: 'STR-008',
    title: 'keeps the order of each stream while a command writes to both in turn',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const last = t.volume(20_000);
      const reading = await t.run(await t.sandbox(), t.words.count(last, true));
      await expectExit(reading, 0);
      if (!t.tells.stderrApart) return expectEqual('bytes', reading.bytes, numbers(1, last, 1).length);
      expectBytes('stdout', reading.stdout, numbers(1, last, 2));
      expectBytes('stderr', reading.stderr, numbers(2, last, 2));
    },
  },
  {
    id: 'STR-009',
    title: 'ends the output of a command although its background child holds it open',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const handle = await t.sandbox();
      const errand = { trigger: 'go', mark: 'done' };
      const reading = await t.run(handle, t.words.background(errand));
      expectEqual('exit', await t.within('the exit', 10_000, reading.exit()), { exitCode: 0 });
      expectBytes('the first line', reading.stdout.subarray(0, 6), 'ready\n');
      await t.exec(handle, t.words.touch(errand.trigger));
    },
  },
  {
    id: 'STR-010',
    title: 'ends the output of a command that did not start, or died, as exec tells it',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const handle = await t.sandbox();
      const missing = await (await t.run(handle, t.words.missing())).exit();
      expectEqual('exit code of a program that is not there', missing.exitCode, 127);
      if (t.tells.startErrors) {
        const isTold = typeof missing.startError === 'string' && missing.startError !== '';
        expectThat('startError', isTold, 'why it did not start', missing.startError);
      }
      const killed = await (await t.run(handle, t.words.dieOf('SIGKILL'))).exit();
      expectEqual('exit code after SIGKILL', killed.exitCode, 137);
      if (t.tells.signals || killed.signal !== undefined) expectEqual('signal', killed.signal, 'SIGKILL');
    },
  },
  {
    id: 'STR-011',
    title: 'keeps what came before there was a reader, and delivers it from offset 0',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.puppet(), { stdin: true });
      await command.writeStdin(puppetLine({ out: 'early ' }));
      await t.eventually('early output', () => command.outputBytes === 6 || undefined);
      const reading = t.read(command);
      await reading.shows('early ');
      await command.writeStdin(puppetLine({ out: 'late' }));
      await command.closeStdin();
      await expectExit(reading, 0, 'early late');
      expectEqual('outputBytes', command.outputBytes, 10);
    },
  },
  {
    id: 'STR-012',
    title: 'settles `exit` without a reader, and keeps the output for one that comes after',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.print({ stdout: 'kept', exitCode: 5 }));
      expectEqual('exit', await t.within('the exit', 10_000, command.exit), { exitCode: 5 });
      const reading = t.read(command);
      await expectExit(reading, 5, 'kept');
    },
  },
  {
    id: 'STR-013',
    title: 'gives commands references of their own, with the handle and the provider that they came from',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const handle = await t.sandbox();
      const commands = await Promise.all([1, 2, 3].map(() => t.spawn(handle, t.words.print({}))));
      expectEqual('references that differ', new Set(commands.map(({ ref }) => ref)).size, 3);
      for (const command of commands) {
        expectThat('ref', typeof command.ref === 'string' && command.ref !== '', 'a name', command.ref);
        expectEqual('provider', command.provider, t.adapter.provider);
        expectEqual('handle', { ...command.handle }, { ...handle });
        expectEqual('stdin that was not opened', command.stdin, undefined);
        await command.drain();
      }
    },
  },
  {
    id: 'STR-030',
    title: 'tells the exit code of a spawned command as it was, and makes neither a signal nor a start error of it',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const handle = await t.sandbox();
      for (const exitCode of [1, 126, 127, 128, 130, 137, 143, 200, 255]) {
        const command = await t.spawn(handle, t.words.print({ stdout: 'ran', exitCode }));
        expectEqual('exit', await t.read(command).exit(), { exitCode });
      }
    },
  },
  {
    id: 'STR-031',
    title: 'keeps commands apart that are started at the same time',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const handle = await t.sandbox();
      const all = Array.from({ length: 16 }, async (_, exitCode) => {
        const stdout = noise(3000 + exitCode, exitCode + 1);
        const stderr = t.tells.stderrApart ? noise(1000 + exitCode, exitCode + 101) : Buffer.of();
        const reading = await t.run(handle, t.words.print({ stdout, stderr, exitCode }));
        expectEqual(`exit of command ${exitCode}`, await reading.exit(), { exitCode });
        expectBytes(`stdout of command ${exitCode}`, reading.stdout, stdout);
        expectBytes(`stderr of command ${exitCode}`, reading.stderr, stderr);
      });
      await Promise.all(all);
    },
  },
];

function numbers(first: number, last: number, step: number): Buffer {
  const lines: string[] = [];
  for (let n = first; n <= last; n += step) lines.push(`${n}\n`);
  return Buffer.from(lines.join(''));
}
