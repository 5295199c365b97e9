import { Readable } from 'node:stream';
import type { OutputFrame, SandboxFrame } from '#libs/contract';
import type { ConformanceCase } from '../conformance-case.js';
import { expectEqual, expectError, expectRejection, expectThat } from '../expect.js';
import { closedGate } from '../gate.js';
import { expectPattern, patternAt } from '../samples.js';
import { expectExit } from '../session.js';
import { readPattern, standstill } from '../standstill.js';
import { PATTERN_LINE } from '../vocabulary.js';

const MiB = 1024 * 1024;
/** Less than any journal holds, and far more than may be on the way to a reader. */
const REPLAY_BYTES = 15 * MiB;
const LAST_WORDS = 'and this is the last';

export const streamingFlowCases: readonly ConformanceCase[] = [
  {
    id: 'STR-014',
    title: 'holds back a command that writes without end while its reader takes its time, and loses nothing',
    level: 'MUST',
    promise: 'back-pressure',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.flood());
      const gate = closedGate();
      const reading = readPattern(t, command, { held: gate.opened });
      const seen = await standstill(t, command);
      gate.open();
      await reading.until('it goes on', () => reading.bytes > 2 * seen);
      await command.stop();
    },
  },
  {
    id: 'STR-015',
    title: 'lets other commands run while the reader of one takes nothing',
    level: 'MUST',
    promise: 'back-pressure',
    async run(t) {
      const handle = await t.sandbox();
      const held = await t.spawn(handle, t.words.flood());
      const gate = closedGate();
      const holding = t.read(held, { keep: false, onFrame: () => gate.opened });
      await t.eventually('the first output', () => held.outputBytes > 0 || undefined);
      const other = await t.run(handle, t.words.lines(3 * MiB));
      await expectExit(other, 0);
      expectEqual('bytes', other.bytes, 3 * MiB);
      expectPattern(other.stdout, 0);
      expectEqual('exit code of an exec', (await t.exec(handle, t.words.print({ exitCode: 2 }))).exitCode, 2);
      await held.stop();
      gate.open();
      expectError('the end of the one that was held', await holding.error(), {
        code: 'unavailable',
        detail: 'detached',
      });
    },
  },
  {
    id: 'STR-016',
    title: 'holds back a command also for an iterator that asks for no more, and for streams that are not read',
    level: 'MUST',
    promise: 'back-pressure',
    async run(t) {
      const handle = await t.sandbox();
      const iterated = await t.spawn(handle, t.words.flood());
      const frames = iterated[Symbol.asyncIterator]();
      const first = (await frames.next()) as IteratorYieldResult<SandboxFrame>;
      expectThat('the first frame', first.value.type === 'stdout', 'stdout', first.value.type);
      await standstill(t, iterated);
      const streamed = await t.spawn(handle, t.words.flood());
      const { stdout } = streamed.streams();
      expectThat('stdout', stdout instanceof Readable, 'a Readable', stdout);
      await standstill(t, streamed);
      await Promise.all([iterated.stop(), streamed.stop()]);
    },
  },
  {
    id: 'STR-029',
    title: 'gives a reader that is slower than the command all of the output before the exit',
    level: 'MUST',
    promise: 'back-pressure',
    async run(t) {
      const bytes = t.volume(3 * MiB);
      const command = await t.spawn(await t.sandbox(), t.words.lines(bytes));
      let done = 0;
      const reading = t.read(command, {
        onFrame: async ({ data }) => {
          for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
          done += data.byteLength;
        },
      });
      await expectExit(reading, 0);
      expectEqual('bytes that the reader had done with at the exit', done, bytes);
      expectPattern(reading.stdout, 0);
    },
  },
  {
    id: 'STR-032',
    title: 'holds back a command that writes to stderr as well, and its stdin behind it',
    level: 'MUST',
    promise: 'back-pressure',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.copyStdin('stderr'), { stdin: true });
      const gate = closedGate();
      const reading = readPattern(t, command, { held: gate.opened });
      const piece = patternAt(0, PATTERN_LINE.length * 4096);
      const writing = new AbortController();
      let written = 0;
      const fill = async (): Promise<void> => {
        for (; !writing.signal.aborted; written += piece.byteLength) await command.writeStdin(piece);
      };
      const filling = fill();
      filling.catch(() => {});
      await standstill(t, command);
      writing.abort();
      gate.open();
      await filling;
      await command.closeStdin();
      await expectExit(reading, 0);
      expectEqual('bytes', reading.bytes, written);
    },
  },
  {
    id: 'ATT-013',
    title: 'holds back the replay of a session that nobody takes',
    level: 'MUST',
    promise: 'back-pressure',
    needs: ['attach'],
    timeoutMs: 60_000,
    async run(t) {
      const handle = await t.sandbox();
      const first = await t.spawn(handle, t.words.lines(REPLAY_BYTES), { detachable: true });
      expectEqual('exit', await first.drain(), { exitCode: 0 });
      const command = await t.attach(handle, t.sessionId(first));
      const gate = closedGate();
      const reading = readPattern(t, command, { held: gate.opened });
      await standstill(t, command, REPLAY_BYTES / 2);
      gate.open();
      await expectExit(reading, 0);
      expectEqual('bytes', reading.bytes, REPLAY_BYTES);
    },
  },
  {
    id: 'STD-021',
    title: 'goes on with stdin behind a write that was aborted while it waited',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const handle = await t.sandbox();
      const command = await t.spawn(handle, t.words.copyStdin('stdout'), { stdin: true });
      const gate = closedGate();
      let end = '';
      const onFrame = ({ data }: OutputFrame): Promise<void> => {
        end = (end + Buffer.from(data).toString('latin1')).slice(-LAST_WORDS.length);
        return gate.opened;
      };
      const reading = t.read(command, { keep: false, onFrame });
      const over = new AbortController();
      const fill = async (): Promise<void> => {
        for (;;) await command.writeStdin(patternAt(0, PATTERN_LINE.length * 4096), { signal: over.signal });
      };
      const filling = expectRejection('the write that waits', fill(), { code: 'aborted', effect: ['none', 'unknown'] });
      await standstill(t, command);
      over.abort();
      await filling;
      gate.open();
      await command.writeStdin(LAST_WORDS);
      await command.closeStdin();
      await expectExit(reading, 0);
      expectEqual('the last of the output', end, LAST_WORDS);
    },
  },
];
