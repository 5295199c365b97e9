import type { Exit, SandboxCommand } from '#libs/contract';
import type { ConformanceCase } from '../conformance-case.js';
import { expectEqual, expectError } from '../expect.js';
import { expectHidden } from '../hidden.js';
import { start } from '../session.js';
import { WAYS } from '../ways.js';

const SECRET = 'hidden-from-every-log';

/** Every kind of reader is told the same end. */
export const endTellingCases: readonly ConformanceCase[] = [
  {
    id: 'STR-036',
    title: 'tells every kind of reader of a death by a signal',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const handle = await t.sandbox();
      for (const [way, read] of Object.entries(WAYS)) {
        const { exit } = await read(await t.spawn(handle, t.words.dieOf('SIGKILL')));
        expectEqual(`exit code by ${way}`, exit.exitCode, 137);
        if (t.tells.signals || exit.signal !== undefined) expectEqual(`signal by ${way}`, exit.signal, 'SIGKILL');
      }
    },
  },
  {
    id: 'FLT-057',
    title: 'makes no end in good order of an output whose transport breaks, for no kind of reader',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:cutAfter'],
    async run(t) {
      const handle = await t.sandbox();
      const words = t.words.print({ stdout: 'some of it', exitCode: 7 });
      const ways = { ...WAYS, 'drain()': drained };
      for (const [way, read] of Object.entries(ways)) {
        const heal = await t.inject('cutAfter', 4);
        const command = await t.spawn(handle, words);
        const seen = await read(command).catch((error: unknown) => {
          expectError(`the end by ${way}`, error, { code: 'unavailable' });
        });
        await heal();
        // An adapter may find its way back to the process: then nothing may be missing.
        if (seen === undefined) continue;
        expectEqual(`exit by ${way}`, seen.exit, { exitCode: 7 });
        expectEqual(`bytes by ${way}`, command.outputBytes, 'some of it'.length);
      }
    },
  },
  {
    id: 'ERR-005',
    title: 'keeps output out of the error of a transport that breaks',
    level: 'MUST',
    promise: 'errors',
    needs: ['fault:cutAfter'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('cutAfter', SECRET.length);
      const { command, reading } = await start(t, handle, t.words.print({ stdout: `${SECRET}${SECRET}` }));
      const ending = await reading.ended;
      await heal();
      if ('exit' in ending) return;
      expectHidden('the error of the reader', ending.error, SECRET);
      expectHidden('the error of exit', await command.exit.catch((error: unknown) => error), SECRET);
    },
  },
];

async function drained(command: SandboxCommand): Promise<{ exit: Exit }> {
  return { exit: await command.drain() };
}
