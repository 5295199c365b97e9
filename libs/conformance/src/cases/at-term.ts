import type { SandboxHandle } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { exists } from '../errands.js';
import { expectEqual, expectRejection } from '../expect.js';
import { startReady } from '../session.js';
import type { Words } from '../vocabulary.js';

/** What a command that tidies up makes when it has begun, and at TERM. */
const FILES = { begun: 'begun', mark: 'tidied' } as const;
const FIRST_DEADLINE_MS = 500;

function tidyUp(t: CaseContext): Words {
  const words = t.words.tidyUp?.(FILES);
  if (words === undefined) throw new Error('this case must declare that it needs word:tidyUp');
  return words;
}

/** Runs into deadlines, each later than the one before, until the command had begun at one. */
async function runIntoDeadline(t: CaseContext, handle: SandboxHandle): Promise<void> {
  for (let deadlineMs = FIRST_DEADLINE_MS; !t.signal.aborted; deadlineMs *= 2) {
    const call = t.exec(handle, tidyUp(t), { timeoutMs: deadlineMs });
    await expectRejection('exec', call, { code: 'unavailable', detail: 'timeout', effect: ['done', 'unknown'] });
    if (await exists(t, handle, FILES.begun)) return;
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
      await runIntoDeadline(t, handle);
      expectEqual('whether it could tidy up', await exists(t, handle, FILES.mark), true);
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
      const { reading, id } = await startReady(t, handle, tidyUp(t));
      await t.adapter.terminateSession(handle, id, { timeoutMs: 30_000 });
      expectEqual('whether it could tidy up', await exists(t, handle, FILES.mark), true);
      const ending = await t.within('the end of the output', 10_000, reading.ended);
      if ('exit' in ending) expectEqual('the exit', ending.exit, { exitCode: 0 });
    },
  },
];
