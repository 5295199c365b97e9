import { Readable } from 'node:stream';
import type { SandboxCommand, SandboxFrame } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { expectEqual, expectError, expectThat } from '../expect.js';
import { closedGate } from '../gate.js';
import { expectPattern, patternAt } from '../samples.js';
import { PATTERN_LINE } from '../vocabulary.js';

const MiB = 1024 * 1024;
/** The most that may come for a reader that takes nothing. */
const MOST_BYTES = 16 * MiB;
/** So many looks in a row that see no more output mean that it stands still. */
const LOOKS = 15;

export const streamingFlowCases: readonly ConformanceCase[] = [
  {
    id: 'STR-014',
    title: 'holds back a command that writes without end while its reader takes its time, and loses nothing',
    level: 'MUST',
    promise: 'back-pressure',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.flood());
      const gate = closedGate();
      const reading = t.read(command, {
        keep: false,
        onFrame: ({ offset, data }) => {
          expectPattern(data, offset);
          return gate.opened;
        },
      });
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
      expectEqual('exit', await other.exit(), { exitCode: 0 });
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
      expectEqual('exit', await reading.exit(), { exitCode: 0 });
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
      const reading = t.read(command, {
        keep: false,
        onFrame: ({ offset, data }) => {
          expectPattern(data, offset);
          return gate.opened;
        },
      });
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
      expectEqual('exit', await reading.exit(), { exitCode: 0 });
      expectEqual('bytes', reading.bytes, written);
    },
  },
];

/** Waits until no more output comes. @returns how much has come; never more than is allowed */
async function standstill(t: CaseContext, command: SandboxCommand): Promise<number> {
  let seen = -1;
  let looks = 0;
  await t.eventually('that the output stands still', () => {
    looks = seen > 0 && command.outputBytes === seen ? looks + 1 : 0;
    seen = command.outputBytes;
    return looks === LOOKS || seen > MOST_BYTES || undefined;
  });
  expectThat('bytes that came while the reader took none', seen <= MOST_BYTES, `at most ${MOST_BYTES}`, seen);
  return seen;
}
