import type { SandboxError } from '#libs/contract';
import type { ConformanceCase } from '../conformance-case.js';
import { expectEqual, expectRejection } from '../expect.js';
import { expectExit, ready, start, startEcho } from '../session.js';

/** More than pipes and requests on the way can hold. */
const MUCH = 8 * 1024 * 1024;

export const heldStdinCases: readonly ConformanceCase[] = [
  {
    id: 'STD-013',
    title: 'holds back writes to a command that never reads, while the sandbox goes on working',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const handle = await t.sandbox();
      const { command } = await ready(start(t, handle, t.words.stay(), { stdin: true }));
      let state = 'pending';
      command.writeStdin(new Uint8Array(MUCH)).then(
        () => (state = 'taken'),
        () => (state = 'refused'),
      );
      for (const code of [1, 2, 3]) {
        const { exitCode } = await t.within('an exec', 10_000, t.exec(handle, t.words.print({ exitCode: code })));
        expectEqual('exit code of an exec', exitCode, code);
      }
      const other = await t.spawn(handle, t.words.copyStdin('stdout'), { stdin: true });
      const otherReading = t.read(other);
      await t.within('a write to another', 10_000, other.writeStdin('passes'));
      await other.closeStdin();
      await expectExit(otherReading, 0, 'passes');
      expectEqual('the write that nobody reads', state, 'pending');
    },
  },
  {
    id: 'STD-014',
    title: 'ends pending writes with command_exited when the command exits',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.pause(Math.max(600, t.ms(2_000))), { stdin: true });
      const writes = [new Uint8Array(MUCH), 'behind', 'last'].map((data, i) =>
        expectRejection(`write ${i}`, command.writeStdin(data), {
          code: 'command_exited',
          effect: i === 0 ? 'unknown' : ['none', 'unknown'],
        }),
      );
      const closing = command.closeStdin();
      expectEqual('exit', await command.drain(), { exitCode: 0 });
      await t.within('the end of the writes', 5_000, Promise.all(writes));
      await t.within('the close', 5_000, closing);
    },
  },
  {
    id: 'STD-015',
    title: 'ends pending writes when the command is terminated',
    level: 'MUST',
    promise: 'stdin',
    needs: ['terminate_session'],
    async run(t) {
      const handle = await t.sandbox();
      const { command } = await ready(start(t, handle, t.words.stay(), { stdin: true, detachable: true }));
      const write = expectRejection('writeStdin', command.writeStdin(new Uint8Array(MUCH)), { code: 'command_exited' });
      await t.adapter.terminateSession(handle, t.sessionId(command), { mode: 'force' });
      await t.within('the end of the write', 5_000, write);
    },
  },
  {
    id: 'STD-016',
    title: 'ends pending writes when the sandbox is destroyed',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading } = await ready(start(t, handle, t.words.stay(), { stdin: true }));
      const code = ['command_exited', 'unavailable', 'not_found'] as const;
      const write = expectRejection('writeStdin', command.writeStdin(new Uint8Array(MUCH)), { code });
      await t.adapter.destroy(handle);
      const ending = await t.within('the end of the output', 10_000, reading.ended);
      const error = await t.within('the end of the write', 5_000, write);
      const expected = 'exit' in ending ? 'command_exited' : (ending.error as SandboxError).code;
      expectEqual('code of the write', error.code, expected);
    },
  },
  {
    id: 'STD-017',
    title: 'ends a pending write whose signal fires, with the reason',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const { command } = await ready(start(t, await t.sandbox(), t.words.stay(), { stdin: true }));
      const over = new AbortController();
      const reason = new Error('given up');
      const rejections = [new Uint8Array(MUCH), 'behind'].map((data, i) =>
        expectRejection(`write ${i}`, command.writeStdin(data, { signal: over.signal }), {
          code: 'aborted',
          effect: i === 0 ? 'unknown' : 'none',
          cause: reason,
        }),
      );
      // Both are in the queue, and the first of them has begun, once another call has gone to the sandbox and back.
      await t.exec(command.handle, t.words.print({}));
      over.abort(reason);
      await t.within('the rejections', 5_000, Promise.all(rejections));
    },
  },
  {
    id: 'STD-018',
    title: 'writes nothing of a call whose signal has fired, and goes on with the next',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const { command, reading } = await startEcho(t);
      await command.writeStdin('a');
      const fired = command.writeStdin('b', { signal: AbortSignal.abort() });
      await expectRejection('writeStdin', fired, { code: 'aborted', effect: 'none' });
      await command.writeStdin('c');
      await command.closeStdin();
      await expectExit(reading, 0, 'ac');
    },
  },
  {
    id: 'STD-019',
    title: 'answers write_failed when a command that lives has closed its stdin',
    level: 'SHOULD',
    promise: 'stdin',
    async run(t) {
      const { command } = await ready(start(t, await t.sandbox(), t.words.closeInput(), { stdin: true }));
      const writing = command.writeStdin(new Uint8Array(MUCH));
      await t.within('the answer', 10_000, expectRejection('writeStdin', writing, { code: 'write_failed' }));
    },
  },
];
