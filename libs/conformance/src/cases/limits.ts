import type { SandboxError } from '#libs/contract';
import type { ConformanceCase } from '../conformance-case.js';
import { expectGone, expectNothingAt, untilExists } from '../errands.js';
import { expectBytes, expectEqual, expectRejection, expectThat, type ExpectedError } from '../expect.js';
import { expectPattern } from '../samples.js';
import { start } from '../session.js';

const MiB = 1024 * 1024;
/** How long after its deadline an exec may still take. */
const GRACE_MS = 5_000;
/** What a way there may add. */
const SLACK_MS = 1_000;
const ERRAND = { trigger: 'go', mark: 'alive' };

const TIMEOUT: ExpectedError = { code: 'unavailable', detail: 'timeout', effect: ['done', 'unknown'] };
const OUTPUT_LIMIT: ExpectedError = { code: 'truncated', detail: 'output_limit', effect: ['done', 'unknown'] };

export const limitCases: readonly ConformanceCase[] = [
  {
    id: 'LIM-001',
    title: 'stops a command at its deadline, group and all, and says so in time',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const timeoutMs = t.ms(400);
      const call = t.exec(handle, t.words.family(ERRAND), { timeoutMs });
      const rejection = expectRejection('exec', call, TIMEOUT);
      await t.within('the rejection', 400 + GRACE_MS + SLACK_MS, rejection);
      await expectGone(t, handle, ERRAND);
    },
  },
  {
    id: 'LIM-002',
    title: 'kills at the deadline what is deaf to TERM, and says in time whether it is gone',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const call = t.exec(handle, t.words.family({ ...ERRAND, deaf: true }), { timeoutMs: t.ms(400) });
      const rejection = expectRejection('exec', call, TIMEOUT);
      const { effect }: SandboxError = await t.within('the rejection', 400 + GRACE_MS + SLACK_MS, rejection);
      if (effect === 'done') await expectGone(t, handle, ERRAND);
    },
  },
  {
    id: 'LIM-003',
    title: 'gives the result of a command within its deadline as soon as it ends',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const call = t.exec(await t.sandbox(), t.words.print({ stdout: 'done', exitCode: 3 }), { timeoutMs: 600_000 });
      const { exitCode, output } = await t.within('the result', 10_000, call);
      expectEqual('exit code', exitCode, 3);
      expectBytes('output', output, 'done');
    },
  },
  {
    id: 'LIM-004',
    title: 'takes no exit code for a deadline that has passed',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      for (const code of [124, 137, 143]) {
        const { exitCode } = await t.exec(handle, t.words.print({ exitCode: code }), { timeoutMs: 60_000 });
        expectEqual('exit code', exitCode, code);
      }
    },
  },
  {
    id: 'LIM-005',
    title: 'keeps the deadline also while a command waits for the rest of its stdin',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      async function* endless(): AsyncGenerator<string> {
        yield 'begun';
        await new Promise(() => {});
      }
      const options = { stdin: endless(), timeoutMs: t.ms(400) };
      const call = t.exec(await t.sandbox(), t.words.copyStdin('stdout'), options);
      await t.within('the rejection', 400 + GRACE_MS + SLACK_MS, expectRejection('exec', call, TIMEOUT));
    },
  },
  {
    id: 'LIM-006',
    title: 'leaves other commands alone when one is stopped at its deadline',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const other = await t.run(handle, t.words.family(ERRAND));
      await other.shows('ready\n');
      await expectRejection('exec', t.exec(handle, t.words.stay(), { timeoutMs: t.ms(300) }), TIMEOUT);
      await t.exec(handle, t.words.touch(ERRAND.trigger));
      await untilExists(t, handle, ERRAND.mark);
    },
  },
  {
    id: 'LIM-007',
    title: 'refuses an output beyond its limit, and never gives a part of it',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      for (const bytes of [1001, 100_000]) {
        const call = t.exec(handle, t.words.lines(bytes), { maxOutputBytes: 1000 });
        await expectRejection(`${bytes} bytes`, call, OUTPUT_LIMIT);
      }
    },
  },
  {
    id: 'LIM-008',
    title: 'gives an output of exactly its limit',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      for (const bytes of [1, 1000, 100_000]) {
        const { exitCode, output } = await t.exec(handle, t.words.lines(bytes), { maxOutputBytes: bytes });
        expectEqual('exit code', exitCode, 0);
        expectEqual('bytes', output.byteLength, bytes);
        expectPattern(output, 0);
      }
    },
  },
  {
    id: 'LIM-009',
    title: 'counts both streams together against the limit of output',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const words = t.words.print({ stdout: 'x'.repeat(600), stderr: 'y'.repeat(401) });
      for (const stderrToStdout of [false, true]) {
        const over = t.exec(handle, words, { maxOutputBytes: 1000, stderrToStdout });
        await expectRejection('one byte too many', over, OUTPUT_LIMIT);
        const { output, stderr } = await t.exec(handle, words, { maxOutputBytes: 1001, stderrToStdout });
        expectEqual('bytes in all', output.byteLength + (stderr?.byteLength ?? 0), 1001);
      }
    },
  },
  {
    id: 'LIM-010',
    title: 'stops a command that writes without end at its limit of output',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const call = t.exec(await t.sandbox(), t.words.flood(), { maxOutputBytes: 50_000 });
      await t.within('the rejection', 2 * GRACE_MS, expectRejection('exec', call, OUTPUT_LIMIT));
    },
  },
  {
    id: 'LIM-011',
    title: 'takes 16 MiB of output unless told otherwise, and not a byte more',
    level: 'SHOULD',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const { output } = await t.exec(handle, t.words.lines(16 * MiB));
      expectEqual('bytes', output.byteLength, 16 * MiB);
      expectPattern(output, 0);
      await expectRejection('a byte more', t.exec(handle, t.words.lines(16 * MiB + 1)), OUTPUT_LIMIT);
    },
  },
  {
    id: 'LIM-012',
    title: 'does nothing of a call whose signal has fired, and gives its reason',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const reason = { why: 'given up' };
      const signal = AbortSignal.abort(reason);
      const before = t.subject.insight?.requestCount?.();
      const { cmd, args } = t.words.touch('mark');
      for (const operation of ['exec', 'spawn'] as const) {
        const call = t.adapter[operation](handle, cmd, args, { signal });
        await expectRejection(operation, call, { code: 'aborted', effect: 'none', cause: reason });
      }
      expectEqual('requests that went out', t.subject.insight?.requestCount?.(), before);
      await expectNothingAt(t, handle, 'mark');
    },
  },
  {
    id: 'LIM-013',
    title: 'ends an exec whose signal fires while it runs, with the reason and what is known of the effect',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const reason = new Error('given up');
      const over = new AbortController();
      await t.exec(handle, t.words.touch(ERRAND.trigger));
      const call = t.exec(handle, t.words.family(ERRAND), { signal: over.signal });
      const rejection = expectRejection('exec', call, { code: 'aborted', effect: ['done', 'unknown'] });
      await untilExists(t, handle, ERRAND.mark);
      over.abort(reason);
      const error = await t.within('the rejection', GRACE_MS + SLACK_MS, rejection);
      expectEqual('whether the cause is the reason', error.cause === reason, true);
    },
  },
  {
    id: 'LIM-014',
    title: 'leaves other commands alone when one call is aborted',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const other = await t.run(handle, t.words.family({ trigger: 'later', mark: 'survived' }));
      await other.shows('ready\n');
      const over = new AbortController();
      await t.exec(handle, t.words.touch(ERRAND.trigger));
      const call = t.exec(handle, t.words.family(ERRAND), { signal: over.signal });
      const rejection = expectRejection('exec', call, { code: 'aborted' });
      await untilExists(t, handle, ERRAND.mark);
      over.abort();
      await rejection;
      await t.exec(handle, t.words.touch('later'));
      await untilExists(t, handle, 'survived');
    },
  },
  {
    id: 'LIM-015',
    title: 'takes no notice of a signal that fires after its call has ended',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const over = new AbortController();
      const { command, reading } = await start(t, handle, t.words.copyStdin('stdout'), {
        stdin: true,
        signal: over.signal,
      });
      await command.writeStdin('before ', { signal: over.signal });
      await reading.shows('before ');
      over.abort();
      await command.writeStdin('after');
      await command.closeStdin();
      expectEqual('exit code', (await reading.exit()).exitCode, 0);
      expectBytes('output', reading.stdout, 'before after');
    },
  },
  {
    id: 'LIM-016',
    title: 'keeps the limits of one command from the next',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const limited = t.exec(handle, t.words.lines(2000), { maxOutputBytes: 1000, timeoutMs: 60_000 });
      const unlimited = t.exec(handle, t.words.lines(2000));
      await expectRejection('with a limit', limited, OUTPUT_LIMIT);
      const { exitCode, output } = await unlimited;
      expectThat('the one without', exitCode === 0 && output.byteLength === 2000, 'all of it', output.byteLength);
    },
  },
  {
    id: 'LIM-017',
    title: 'has stopped what it says it has stopped, at a limit of output and by an abort',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const over = new AbortController();
      const ends = {
        limit: { options: { maxOutputBytes: 'ready'.length }, expected: OUTPUT_LIMIT },
        abort: { options: { signal: over.signal }, expected: { code: 'aborted' } as const },
      };
      for (const [end, { options, expected }] of Object.entries(ends)) {
        const errand = { trigger: `go-${end}`, mark: `alive-${end}` };
        const rejection = expectRejection('exec', t.exec(handle, t.words.family(errand), options), expected);
        if (end === 'abort') {
          // It has begun when another has come and gone.
          await t.exec(handle, t.words.print({}));
          over.abort();
        }
        const { effect } = await t.within('the rejection', 2 * GRACE_MS, rejection);
        if (effect === 'done') await expectGone(t, handle, errand);
      }
    },
  },
  {
    id: 'LIM-022',
    title: 'counts bytes against the limit of output, whatever they stand for',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const stdout = '€'.repeat(400);
      await expectRejection(
        'too much',
        t.exec(handle, t.words.print({ stdout }), { maxOutputBytes: 1199 }),
        OUTPUT_LIMIT,
      );
      const { output } = await t.exec(handle, t.words.print({ stdout }), { maxOutputBytes: 1200 });
      expectBytes('output', output, stdout);
    },
  },
  {
    id: 'LIM-023',
    title: 'stops a command at its limit of output, group and all',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const call = t.exec(handle, t.words.family(ERRAND), { maxOutputBytes: 'ready'.length });
      await t.within('the rejection', 2 * GRACE_MS, expectRejection('exec', call, OUTPUT_LIMIT));
      await expectGone(t, handle, ERRAND);
    },
  },
  {
    id: 'LIM-025',
    title: 'keeps the deadline of a command that says nothing',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const call = t.exec(await t.sandbox(), t.words.pause(60_000), { timeoutMs: t.ms(400) });
      await t.within('the rejection', 400 + GRACE_MS + SLACK_MS, expectRejection('exec', call, TIMEOUT));
    },
  },
];
