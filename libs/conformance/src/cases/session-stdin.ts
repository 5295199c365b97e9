import type { ConformanceCase } from '../conformance-case.js';
import { expectBytes, expectEqual, expectRejection } from '../expect.js';
import { expectExit, expectObedient, leave, say, startPuppet } from '../session.js';

const NOT_OPEN = { code: 'invalid', detail: 'stdin_not_open', effect: 'none' } as const;

export const sessionStdinCases: readonly ConformanceCase[] = [
  {
    id: 'SES-020',
    title: 'gives stdin of a session to the newest attach that asks for it, and takes it from the one before',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const first = await startPuppet(t, handle);
      await say(first.command, 'first ');
      const second = await t.attach(handle, first.id, { stdin: true });
      await expectRejection('a write of the first', say(first.command, 'LOST'), NOT_OPEN);
      await say(second, 'second ');
      const third = await t.attach(handle, first.id, { stdin: true });
      await expectRejection('a write of the second', say(second, 'LOST'), NOT_OPEN);
      await say(third, 'third');
      await leave(third, 0);
      await first.reading.exit();
      expectBytes('what was written', first.reading.stdout, 'first second third');
    },
  },
  {
    id: 'SES-021',
    title: 'leaves stdin with its owner when an attach does not ask for it',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startPuppet(t, handle);
      const joined = await t.attach(handle, id);
      expectEqual('stdin of an attach without', joined.stdin, undefined);
      await expectRejection('a write of the attach', say(joined, 'LOST'), NOT_OPEN);
      await expectRejection('a close of the attach', joined.closeStdin(), NOT_OPEN);
      await say(command, 'still the owner');
      await leave(command, 0);
      await reading.exit();
      expectBytes('what was written', reading.stdout, 'still the owner');
    },
  },
  {
    id: 'SES-022',
    title: 'does not let a former owner close stdin',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startPuppet(t, handle);
      const owner = await t.attach(handle, id, { stdin: true });
      await expectRejection('a close of the former owner', command.closeStdin(), NOT_OPEN);
      await say(owner, 'still open');
      await expectObedient(owner, reading, 4);
      expectBytes('what was written', reading.stdout, 'still open');
    },
  },
  {
    id: 'SES-023',
    title: 'leaves stdin of a session open when its owner lets go',
    level: 'MUST',
    promise: 'detach',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, id } = await startPuppet(t, handle);
      await say(command, 'first ');
      const owner = await t.attach(handle, id, { stdin: true });
      await say(owner, 'second ');
      await owner.stop();
      await command.stop();
      const last = await t.attach(handle, id, { stdin: true });
      const reading = t.read(last);
      await say(last, 'third');
      await last.closeStdin();
      await expectExit(reading, 0);
      expectBytes('what was written', reading.stdout, 'first second third');
    },
  },
];
