import type { ConformanceCase } from '../conformance-case.js';
import { untilExists } from '../errands.js';
import { expectBytes, expectEqual, expectRejection } from '../expect.js';
import { noise } from '../samples.js';

const MiB = 1024 * 1024;
const PIECE_BYTES = 100_000;
const ERRAND = { trigger: 'go', mark: 'alive' };
/** Until an exec that was aborted has rejected: 5 s, and what a way there may add. */
const REJECTED_WITHIN_MS = 6_000;

/** An exec that is given stdin: many an adapter goes another way for it, on which everything else holds as well. */
export const fedExecCases: readonly ConformanceCase[] = [
  {
    id: 'PRO-023',
    title: 'gives exec megabytes of stdin to the last byte, whole and in pieces',
    level: 'MUST',
    promise: 'processes',
    timeoutMs: 60_000,
    async run(t) {
      const handle = await t.sandbox();
      const bytes = noise(3 * MiB);
      for (const [what, stdin] of Object.entries({ whole: bytes, 'in pieces': inPieces(bytes) })) {
        const { exitCode, output } = await t.exec(handle, t.words.copyStdin('stdout'), { stdin });
        expectEqual(`exit code with stdin ${what}`, exitCode, 0);
        expectBytes(`stdin ${what}`, output, bytes);
      }
    },
  },
  {
    id: 'LIM-026',
    title: 'keeps the limit of output of an exec that is given stdin',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const bytes = noise(3_000);
      for (const [what, stdin] of Object.entries({ whole: () => bytes, 'in pieces': () => inPieces(bytes) })) {
        const over = t.exec(handle, t.words.copyStdin('stdout'), { stdin: stdin(), maxOutputBytes: 2_999 });
        const expected = { code: 'truncated', detail: 'output_limit', effect: ['done', 'unknown'] } as const;
        await expectRejection(`one byte too many of stdin ${what}`, over, expected);
        const exact = t.exec(handle, t.words.copyStdin('stdout'), { stdin: stdin(), maxOutputBytes: 3_000 });
        expectBytes(`stdin ${what}`, (await exact).output, bytes);
      }
    },
  },
  {
    id: 'LIM-027',
    title: 'ends an exec that is given stdin when its signal fires while it runs, with the reason',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const reason = new Error('while it was fed');
      const over = new AbortController();
      await t.exec(handle, t.words.touch(ERRAND.trigger));
      const call = t.exec(handle, t.words.family(ERRAND), { stdin: 'unread', signal: over.signal });
      const expected = { code: 'aborted', effect: ['done', 'unknown'], cause: reason } as const;
      const rejection = expectRejection('exec', call, expected);
      await untilExists(t, handle, ERRAND.mark);
      over.abort(reason);
      await t.within('the rejection', REJECTED_WITHIN_MS, rejection);
    },
  },
];

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}
