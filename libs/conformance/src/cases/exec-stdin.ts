import type { FileContent } from '#libs/contract';
import type { ConformanceCase } from '../conformance-case.js';
import { expectBytes, expectEqual, expectRejection } from '../expect.js';
import { ALL_BYTES, noise } from '../samples.js';

const MiB = 1024 * 1024;

export const execStdinCases: readonly ConformanceCase[] = [
  {
    id: 'PRO-014',
    title: 'gives a command without stdin its end at once',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const handle = await t.sandbox();
      expectBytes('bytes that exec had to read', (await t.exec(handle, t.words.countStdin())).output, '0\n');
      const spawned = await t.run(handle, t.words.countStdin());
      expectEqual('exit code', (await spawned.exit()).exitCode, 0);
      expectBytes('bytes that spawn had to read', spawned.stdout, '0\n');
    },
  },
  {
    id: 'PRO-015',
    title: 'gives exec the stdin that was given, byte for byte, then its end',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const handle = await t.sandbox();
      const contents: Readonly<Record<string, Uint8Array | string>> = {
        'empty text': '',
        'no bytes': new Uint8Array(),
        text: 'é€😀\nno line feed at the end',
        'every byte value': ALL_BYTES,
        'a part of a larger buffer': noise(5000).subarray(7, 4711),
        'more than a pipe holds': noise(300_000),
      };
      for (const [what, stdin] of Object.entries(contents)) {
        const { exitCode, output } = await t.exec(handle, t.words.copyStdin('stdout'), { stdin });
        expectEqual(`exit code with ${what}`, exitCode, 0);
        expectBytes(what, output, stdin);
      }
    },
  },
  {
    id: 'PRO-016',
    title: 'gives exec a stdin that comes in pieces, in their order',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const pieces = ['first ', Buffer.from('€').subarray(0, 1), Buffer.from('€').subarray(1), '', ALL_BYTES, 'last'];
      const options = { stdin: stream(pieces) };
      const { output } = await t.exec(await t.sandbox(), t.words.copyStdin('stdout'), options);
      expectBytes('output', output, Buffer.concat(pieces.map((piece) => Buffer.from(piece))));
    },
  },
  {
    id: 'PRO-017',
    title: 'gives the result of a command that leaves its stdin unread',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const handle = await t.sandbox();
      const contents: readonly FileContent[] = [noise(MiB), stream(Array.from({ length: 16 }, () => noise(65_536)))];
      for (const stdin of contents) {
        const { exitCode, output } = await t.exec(handle, t.words.print({ stdout: 'done', exitCode: 4 }), { stdin });
        expectEqual('exit code', exitCode, 4);
        expectBytes('output', output, 'done');
      }
    },
  },
  {
    id: 'PRO-018',
    title: 'says so when the source of stdin fails, and keeps its error as the cause',
    level: 'SHOULD',
    promise: 'processes',
    async run(t) {
      const cause = new Error('the source failed');
      async function* failing(): AsyncGenerator<string> {
        yield 'begun';
        throw cause;
      }
      const call = t.exec(await t.sandbox(), t.words.copyStdin('stdout'), { stdin: failing() });
      const error = await expectRejection('exec', call, { code: 'invalid', detail: 'argument' });
      expectEqual('whether the cause is the error of the source', error.cause === cause, true);
    },
  },
];

async function* stream<T>(pieces: readonly T[]): AsyncGenerator<T> {
  yield* pieces;
}
