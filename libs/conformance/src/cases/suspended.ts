import type { ConformanceCase } from '../conformance-case.js';
import { expectFile, expectGone, expectStatus } from '../errands.js';
import { expectEqual } from '../expect.js';
import { expectListed, startReady } from '../session.js';

const ERRAND = { trigger: 'go', mark: 'made' } as const;

/** What is asked of a sandbox that sleeps. */
export const suspendedCases: readonly ConformanceCase[] = [
  {
    id: 'SUS-009',
    title: 'does not wake a suspended sandbox by asking for it or for all names',
    level: 'MUST',
    promise: 'suspend-resume',
    needs: ['suspend'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.suspend(handle);
      for (let round = 0; round < 3; round++) {
        await expectStatus(t, handle, 'suspended');
        expectEqual('whether it is listed', (await t.adapter.listAllNames()).includes(handle.name), true);
        // What it may have set off has had its turn.
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  },
  {
    id: 'SUS-010',
    title: 'terminates also what a suspend has made stand still: frozen is not gone',
    level: 'MUST',
    promise: 'terminate',
    needs: ['suspend', 'terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { id } = await startReady(t, handle, t.words.family(ERRAND));
      await t.adapter.suspend(handle);
      await t.adapter.terminateSession(handle, id);
      const resumed = await t.adapter.resume(handle);
      await expectListed(t, resumed, []);
      await expectGone(t, resumed, ERRAND);
    },
  },
  {
    id: 'SUS-011',
    title: 'wakes a suspended sandbox for several calls at once',
    level: 'MUST',
    promise: 'suspend-resume',
    needs: ['suspend'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.suspend(handle);
      const codes = [1, 2, 3, 4];
      const results = await Promise.all(codes.map((exitCode) => t.exec(handle, t.words.print({ exitCode }))));
      expectEqual(
        'exit codes',
        results.map(({ exitCode }) => exitCode),
        codes,
      );
      await t.adapter.suspend(handle);
      const written = codes.map((code) => t.adapter.writeFile(handle, `file-${code}`, `${code}`));
      await Promise.all(written);
      for (const code of codes) await expectFile(t, handle, `file-${code}`, `${code}`);
    },
  },
];
