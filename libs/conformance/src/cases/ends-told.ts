import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { expectEqual, expectError } from '../expect.js';
import { expectHidden } from '../hidden.js';
import { start } from '../session.js';
import { drained, WAYS } from '../ways.js';

const SECRET = 'hidden-from-every-log';
/** Until a reader is told of the end: an adapter may look for its way back first. */
const ENDED_WITHIN_MS = 25_000;

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
    timeoutMs: 60_000,
    run: (t) => expectTrueEnds(t, 'at once'),
  },
  {
    id: 'FLT-061',
    title: 'makes no end in good order of an output whose transport broke before anybody read it',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:cutAfter'],
    timeoutMs: 60_000,
    run: (t) => expectTrueEnds(t, 'late'),
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

/** @param reads 'late': when the end of the output is known already */
async function expectTrueEnds(t: CaseContext, reads: 'at once' | 'late'): Promise<void> {
  const handle = await t.sandbox();
  const words = t.words.print({ stdout: 'some of it', exitCode: 7 });
  for (const [way, read] of Object.entries({ ...WAYS, 'drain()': drained })) {
    const heal = await t.inject('cutAfter', 4);
    const command = await t.spawn(handle, words);
    if (reads === 'late') await command.exit.catch(() => {});
    const reading = read(command).catch((error: unknown) => {
      expectError(`the end by ${way}`, error, { code: 'unavailable' });
    });
    const seen = await t.within(`the end by ${way}`, ENDED_WITHIN_MS, reading);
    await heal();
    // An adapter may find its way back to the process: then nothing may be missing.
    if (seen === undefined) continue;
    expectEqual(`exit by ${way}`, seen.exit, { exitCode: 7 });
    expectEqual(`bytes by ${way}`, command.outputBytes, 'some of it'.length);
  }
}
