import type { ConformanceCase } from '../conformance-case.js';
import { expectBytes, expectEqual, expectRejection } from '../expect.js';
import { closedGate } from '../gate.js';
import { ALL_BYTES } from '../samples.js';
import {
  attachAndRead,
  expectExit,
  expectOutput,
  leave,
  say,
  startPuppet,
  startSaying,
  startSession,
} from '../session.js';
import { readPattern } from '../standstill.js';

const MiB = 1024 * 1024;
const NOT_FOUND = { code: 'not_found', effect: 'none' } as const;
const INVALID = { code: 'invalid', detail: 'argument', effect: 'none' } as const;

const MALFORMED_IDS: readonly unknown[] = [
  '',
  '../x',
  'a/b',
  'a b',
  'ä',
  'a\n',
  'x'.repeat(257),
  7,
  null,
  undefined,
  ['a'],
];

export const attachCases: readonly ConformanceCase[] = [
  {
    id: 'ATT-001',
    title: 'replays a running session from its first byte, then goes on with it',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startSaying(t, handle, 'before ');
      const replay = await attachAndRead(t, handle, id);
      await replay.shows('before ');
      await say(command, 'and after');
      await leave(command, 6);
      for (const one of [reading, replay]) {
        await expectExit(one, 6, 'before and after');
      }
    },
  },
  {
    id: 'ATT-002',
    title: 'replays a session that has ended, with its exit, as often as it is asked',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const stderr = t.tells.stderrApart ? ALL_BYTES.toReversed() : Buffer.of();
      const { reading, id } = await startSession(t, handle, t.words.print({ stdout: ALL_BYTES, stderr, exitCode: 9 }));
      await reading.exit();
      for (let round = 0; round < 2; round++) {
        const replay = await attachAndRead(t, handle, id);
        await expectExit(replay, 9);
        expectOutput('a session that has ended', replay, { stdout: ALL_BYTES, stderr });
      }
    },
  },
  {
    id: 'ATT-003',
    title: 'tells of an attached command which session and which sandbox it is of',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { id } = await startSession(t, handle, t.words.stay());
      const joined = await t.attach(handle, id);
      expectEqual('sessionId', joined.sessionId, id);
      expectEqual('the sandbox', [joined.provider, joined.handle.name], [t.adapter.provider, handle.name]);
    },
  },
  {
    id: 'ATT-004',
    title: 'replays the death of a session by a signal as it was',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { reading, id } = await startSession(t, handle, t.words.dieOf('SIGKILL'));
      const exit = await reading.exit();
      expectEqual('exit code', exit.exitCode, 137);
      expectEqual('the exit again', await (await attachAndRead(t, handle, id)).exit(), exit);
    },
  },
  {
    id: 'ATT-005',
    title: 'refuses a session of another sandbox as not_found, and leaves it alone',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const [handle, other] = [await t.sandbox(), await t.sandbox()];
      const running = await startPuppet(t, handle);
      const ended = await startSession(t, handle, t.words.print({ stdout: 'secret' }));
      await ended.reading.exit();
      await expectRejection('an attach', t.adapter.attach(other, running.id, { stdin: true }), NOT_FOUND);
      await expectRejection('an attach to an ended one', t.adapter.attach(other, ended.id), NOT_FOUND);
      await say(running.command, 'mine');
      await leave(running.command, 0);
      await running.reading.exit();
      expectBytes('the output', running.reading.stdout, 'mine');
    },
  },
  {
    id: 'ATT-006',
    title: 'refuses a session that never was as not_found',
    level: 'MUST',
    promise: 'not-found',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      for (const id of ['no-such-session', 'x'.repeat(256), '0', '1-a', '__proto__', 'constructor']) {
        await expectRejection(`attach to ${id}`, t.adapter.attach(handle, id), NOT_FOUND);
      }
    },
  },
  {
    id: 'ATT-007',
    title: 'refuses a malformed session id before it does anything',
    level: 'MUST',
    promise: 'errors',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const before = t.subject.insight?.requestCount?.();
      for (const id of MALFORMED_IDS) {
        await expectRejection(`attach to ${JSON.stringify(id)}`, t.adapter.attach(handle, id as string), INVALID);
      }
      expectEqual('requests', t.subject.insight?.requestCount?.(), before);
    },
  },
  {
    id: 'ATT-008',
    title: 'gives a reader its full speed while another reader of the session stands still',
    level: 'MUST',
    promise: 'back-pressure',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const bytes = t.volume(12 * MiB);
      const command = await t.spawn(handle, t.words.lines(bytes), { detachable: true });
      const joined = await t.attach(handle, t.sessionId(command));
      const gate = closedGate();
      t.defer(() => gate.open());
      const still = readPattern(t, joined, { held: gate.opened });
      const reading = readPattern(t, command);
      const exit = await t.within('the exit for the reader that reads', 20_000, reading.exit());
      expectEqual('exit', exit, { exitCode: 0 });
      expectEqual('bytes', reading.bytes, bytes);
      gate.open();
      await expectExit(still, 0);
      expectEqual('bytes for the one that stood still', still.bytes, bytes);
    },
  },
  {
    id: 'ATT-009',
    title: 'replays megabytes of an ended session exactly',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const bytes = t.volume(10 * MiB);
      const command = await t.spawn(handle, t.words.lines(bytes), { detachable: true });
      expectEqual('exit', await command.drain(), { exitCode: 0 });
      const joined = await t.attach(handle, t.sessionId(command));
      const replay = readPattern(t, joined);
      await expectExit(replay, 0);
      expectEqual('bytes', replay.bytes, bytes);
      expectEqual('outputBytes', joined.outputBytes, bytes);
    },
  },
  {
    id: 'ATT-010',
    title: 'does nothing for an attach whose signal had fired, and gives its reason',
    level: 'MUST',
    promise: 'deadlines',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startPuppet(t, handle);
      const reason = new Error('no more');
      const call = t.adapter.attach(handle, id, { stdin: true, signal: AbortSignal.abort(reason) });
      await expectRejection('attach', call, { code: 'aborted', effect: 'none', cause: reason });
      await say(command, 'still the owner');
      await leave(command, 0);
      await reading.exit();
      expectBytes('the output', reading.stdout, 'still the owner');
    },
  },
  {
    id: 'ATT-011',
    title: 'replays the end of a session whose program did not start as it was',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { reading, id } = await startSession(t, handle, t.words.missing());
      const exit = await reading.exit();
      expectEqual('exit code', exit.exitCode, 127);
      expectEqual('the exit again', await (await attachAndRead(t, handle, id)).exit(), exit);
    },
  },
];
