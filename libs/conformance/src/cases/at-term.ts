import type { SandboxHandle } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { exists } from '../errands.js';
import { expectEqual, expectRejection } from '../expect.js';
import { startReady } from '../session.js';
import type { Words } from '../vocabulary.js';

const FIRST_DEADLINE_MS = 1_000;

/** A command that tidies up, and where it shows that it has begun, and that it was asked to end. */
function tidyUp(t: CaseContext, name = 0): { words: Words; begun: string; mark: string } {
  const files = { begun: `begun-${name}`, mark: `tidied-${name}` };
  const words = t.words.tidyUp?.(files);
  if (words === undefined) throw new Error('this case must declare that it needs word:tidyUp');
  return { words, ...files };
}

/** Whether there is something at `path` before that moment, for certain. */
async function existsBefore(t: CaseContext, handle: SandboxHandle, path: string, atMs: number): Promise<boolean> {
  while (performance.now() < atMs) {
    if (await exists(t, handle, path)) return performance.now() < atMs;
  }
  return false;
}

/** Runs into deadlines, each later than the one before, until the command had begun before one. @returns its mark */
async function runIntoDeadline(t: CaseContext, handle: SandboxHandle): Promise<string> {
  for (let round = 0; ; round++) {
    const { words, begun, mark } = tidyUp(t, round);
    const timeoutMs = t.ms(FIRST_DEADLINE_MS) * 2 ** round;
    const deadlineMs = performance.now() + timeoutMs;
    const call = t.exec(handle, words, { timeoutMs });
    const expected = { code: 'unavailable', detail: 'timeout', effect: ['done', 'unknown'] } as const;
    const rejection = expectRejection('exec', call, expected);
    const hasBegun = await existsBefore(t, handle, begun, deadlineMs);
    await rejection;
    if (hasBegun || t.signal.aborted) return mark;
  }
}

/** TERM is a request: who hears it may tidy up, and end as it likes. */
export const atTermCases: readonly ConformanceCase[] = [
  {
    id: 'LIM-021',
    title: 'asks a command to end at its deadline before it kills it, and takes no end that follows for a result',
    level: 'MUST',
    promise: 'deadlines',
    needs: ['word:tidyUp'],
    async run(t) {
      const handle = await t.sandbox();
      const mark = await runIntoDeadline(t, handle);
      expectEqual('whether it could tidy up', await exists(t, handle, mark), true);
    },
  },
  {
    id: 'TER-019',
    title: 'asks a process to end before it kills it, and makes no other end of the one that it takes',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach', 'word:tidyUp'],
    async run(t) {
      const handle = await t.sandbox();
      const { words, mark } = tidyUp(t);
      const { reading, id } = await startReady(t, handle, words);
      await t.adapter.terminateSession(handle, id, { timeoutMs: 30_000 });
      expectEqual('whether it could tidy up', await exists(t, handle, mark), true);
      const ending = await t.within('the end of the output', 10_000, reading.ended);
      if ('exit' in ending) expectEqual('the exit', ending.exit, { exitCode: 0 });
    },
  },
];
