import type { AttachOptions } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { expectBytes, expectEqual, expectRejection } from '../expect.js';
import type { Reading } from '../reading.js';
import {
  attachAndRead,
  expectExit,
  expectObedient,
  expectOutput,
  leave,
  say,
  startPuppet,
  startSaying,
  startSession,
  type StartedSession,
} from '../session.js';
import { puppetLine } from '../vocabulary.js';

const BEYOND_END = { code: 'invalid', detail: 'offset_beyond_end', effect: 'none' } as const;
const INVALID = { code: 'invalid', detail: 'argument', effect: 'none' } as const;

const STDOUT = Buffer.from('0123456789');
const STDERR = Buffer.from('abcdef');

type From = Exclude<AttachOptions['from'], 'now' | undefined>;

/** A session that has written ten bytes and, where they come apart, six to stderr, and ended with 2. */
async function ended(t: CaseContext): Promise<StartedSession & { readonly stderr: Uint8Array }> {
  const stderr = t.tells.stderrApart ? STDERR : Buffer.of();
  const session = await startSession(t, await t.sandbox(), t.words.print({ stdout: STDOUT, stderr, exitCode: 2 }));
  await session.reading.exit();
  return { ...session, stderr };
}

export const attachOffsetCases: readonly ConformanceCase[] = [
  {
    id: 'ATT-020',
    title: 'begins each stream at the byte that was asked for',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const { command, id, stderr } = await ended(t);
      for (const wanted of [
        { stdout: 3, stderr: 5 },
        { stdout: 9, stderr: 0 },
        { stdout: 0, stderr: 1 },
      ]) {
        const from = t.tells.stderrApart ? wanted : { stdout: wanted.stdout };
        const replay = await attachAndRead(t, command.handle, id, { from });
        await expectExit(replay, 2);
        expectOutput(`an attach from ${JSON.stringify(from)}`, replay, { stdout: STDOUT, stderr }, from);
      }
    },
  },
  {
    id: 'ATT-021',
    title: 'begins a stream of which nothing was asked at its first byte',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const { command, id, stderr } = await ended(t);
      const froms: readonly From[] = t.tells.stderrApart ? [{ stdout: 4 }, { stderr: 2 }, {}] : [{ stdout: 4 }, {}];
      for (const from of froms) {
        const replay = await attachAndRead(t, command.handle, id, { from });
        await replay.exit();
        expectOutput(`an attach from ${JSON.stringify(from)}`, replay, { stdout: STDOUT, stderr }, from);
      }
    },
  },
  {
    id: 'ATT-022',
    title: 'gives nothing but the exit to an attach at the end of an ended session',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const { command, reading, id } = await ended(t);
      const from = reading.offsets;
      const replay = await attachAndRead(t, command.handle, id, { from });
      await expectExit(replay, 2);
      expectEqual('bytes', replay.bytes, 0);
    },
  },
  {
    id: 'ATT-023',
    title: 'refuses an attach beyond the end of what an ended session wrote',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const { command, reading, id } = await ended(t);
      const { stdout, stderr } = reading.offsets;
      for (const from of [{ stdout: stdout + 1 }, { stderr: stderr + 1 }, { stdout: 2 ** 40, stderr: 2 ** 40 }]) {
        const call = t.adapter.attach(command.handle, id, { from });
        await expectRejection(`an attach from ${JSON.stringify(from)}`, call, BEYOND_END);
      }
    },
  },
  {
    id: 'ATT-024',
    title: 'refuses an attach beyond the end of what a running session wrote, and leaves it alone',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startSaying(t, handle, 'before ');
      await expectRejection('an attach', t.adapter.attach(handle, id, { from: { stdout: 8 } }), BEYOND_END);
      await say(command, 'and after');
      await leave(command, 0);
      await reading.exit();
      expectBytes('the output', reading.stdout, 'before and after');
    },
  },
  {
    id: 'ATT-025',
    title: 'skips with `now` what was written before, and nothing else',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startPuppet(t, handle);
      const both = t.tells.stderrApart;
      await say(command, 'before ');
      if (both) await command.writeStdin(puppetLine({ err: 'wrong ' }));
      await reading.until('all of it has come', () => reading.bytes === (both ? 13 : 7));
      const joined = t.read(await t.attach(handle, id, { from: 'now' }), { from: reading.offsets });
      await say(command, 'and after');
      if (both) await command.writeStdin(puppetLine({ err: 'and worse' }));
      await leave(command, 0);
      await joined.exit();
      expectBytes('stdout from then on', joined.stdout, 'and after');
      expectBytes('stderr from then on', joined.stderr, both ? 'and worse' : '');
    },
  },
  {
    id: 'ATT-026',
    title: 'gives nothing but the exit to an attach from `now` to an ended session',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const { command, id } = await ended(t);
      const joined = await attachAndRead(t, command.handle, id, { from: 'now' });
      await expectExit(joined, 2);
      expectEqual('bytes', joined.bytes, 0);
    },
  },
  {
    id: 'ATT-027',
    title: 'refuses malformed offsets before it does anything',
    level: 'MUST',
    promise: 'errors',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const before = t.subject.insight?.requestCount?.();
      const offsets = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '0', null, 1n];
      const malformed = [...offsets.flatMap((one) => [{ stdout: one }, { stderr: one }]), 'later', 0, null, []];
      for (const from of malformed) {
        const call = t.adapter.attach(handle, 'some-session', { from: from as From });
        await expectRejection('an attach', call, INVALID);
      }
      expectEqual('requests', t.subject.insight?.requestCount?.(), before);
    },
  },
  {
    id: 'ATT-029',
    title: 'goes on from the end of what a running session has written',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startPuppet(t, handle);
      const joined = [await attachAndRead(t, handle, id, { from: reading.offsets })];
      await say(command, 'before ');
      await reading.shows('before ');
      joined.push(await attachAndRead(t, handle, id, { from: reading.offsets }));
      await say(command, 'and after');
      await expectObedient(command, reading, 4, 'before and after');
      await expectExit(joined[0] as Reading, 4, 'before and after');
      await expectExit(joined[1] as Reading, 4, 'and after');
    },
  },
];
