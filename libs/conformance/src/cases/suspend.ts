import type { ConformanceCase } from '../conformance-case.js';
import { exists, expectFile, expectStatus, modeOf } from '../errands.js';
import { expectBytes, expectEqual, expectRejection, expectThat } from '../expect.js';
import { expectNoSuccess, start } from '../session.js';
import { puppetLine } from '../vocabulary.js';

export const suspendCases: readonly ConformanceCase[] = [
  {
    id: 'SUS-001',
    title: 'parks a sandbox as it declares, and resumes it',
    level: 'MUST',
    promise: 'suspend-resume',
    needs: ['suspend'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.suspend(handle);
      await expectStatus(t, handle, 'suspended');
      const resumed = await t.adapter.resume(handle);
      expectEqual('name after resume', resumed.name, handle.name);
      expectBytes('output', (await t.exec(resumed, t.words.print({ stdout: 'awake' }))).output, 'awake');
      await expectStatus(t, resumed, 'running');
    },
  },
  {
    id: 'SUS-002',
    title: 'keeps files and their modes over suspend and resume',
    level: 'MUST',
    promise: 'suspend-resume',
    needs: ['suspend'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'deep/file', 'kept', { mode: 0o750 });
      await t.adapter.suspend(handle);
      const resumed = await t.adapter.resume(handle);
      await expectFile(t, resumed, 'deep/file', 'kept');
      expectEqual('its mode', await modeOf(t, resumed, 'deep/file'), 0o750);
    },
  },
  {
    id: 'SUS-003',
    title: 'suspends what is suspended and resumes what runs, without complaint',
    level: 'MUST',
    promise: 'suspend-resume',
    needs: ['suspend'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.resume(handle);
      await t.adapter.suspend(handle);
      await t.adapter.suspend(handle);
      await t.adapter.resume(handle);
      await t.adapter.resume(handle);
      expectBytes('output', (await t.exec(handle, t.words.print({ stdout: 'awake' }))).output, 'awake');
    },
  },
  {
    id: 'SUS-004',
    title: 'wakes a suspended sandbox for exec, spawn and writeFile',
    level: 'MUST',
    promise: 'suspend-resume',
    needs: ['suspend'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.suspend(handle);
      expectBytes('output of exec', (await t.exec(handle, t.words.print({ stdout: 'exec' }))).output, 'exec');
      await t.adapter.suspend(handle);
      const reading = await t.run(handle, t.words.print({ stdout: 'spawn' }));
      expectEqual('exit code of spawn', (await reading.exit()).exitCode, 0);
      expectBytes('output of spawn', reading.stdout, 'spawn');
      await t.adapter.suspend(handle);
      await t.adapter.writeFile(handle, 'file', 'written');
      await expectFile(t, handle, 'file', 'written');
    },
  },
  {
    id: 'SUS-005',
    title: 'does to a running session over suspend and resume what it declares',
    level: 'MUST',
    promise: 'suspend-resume',
    needs: ['suspend', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading } = await start(t, handle, t.words.puppet(), { stdin: true, detachable: true });
      await command.writeStdin(puppetLine({ out: 'before' }));
      await reading.shows('before');
      const id = t.sessionId(command);
      await t.adapter.suspend(handle);
      const resumed = await t.adapter.resume(handle);
      const isListed = (await t.adapter.listSessions(resumed)).some((one) => one.id === id);
      const { sessionsOnSuspend } = t.adapter.traits;
      if (sessionsOnSuspend !== 'either')
        expectEqual('listed after the resume', isListed, sessionsOnSuspend === 'survive');
      if (isListed) {
        const again = await t.attach(resumed, id, { stdin: true });
        const replay = t.read(again);
        await again.writeStdin(puppetLine({ out: ' and after' }));
        await again.closeStdin();
        expectEqual('exit code', (await replay.exit()).exitCode, 0);
        expectBytes('the whole output', replay.stdout, 'before and after');
      } else {
        await expectNoSuccess(t, reading);
        expectBytes('the output until then', reading.stdout, 'before');
      }
    },
  },
  {
    id: 'SUS-006',
    title: 'makes no success of an exec that a suspend ends',
    level: 'MUST',
    promise: 'suspend-resume',
    needs: ['suspend'],
    async run(t) {
      const handle = await t.sandbox();
      const abort = new AbortController();
      const exec = t.exec(handle, t.words.family({ trigger: 'go', mark: 'started' }), { signal: abort.signal });
      const ending = exec.then(
        ({ exitCode }) => exitCode,
        (error: unknown) => error,
      );
      await t.adapter.writeFile(handle, 'go', '');
      await t.eventually('the command runs', async () => ((await exists(t, handle, 'started')) ? true : undefined));
      await t.adapter.suspend(handle);
      await t.adapter.resume(handle);
      // Where commands survive a suspend it would stay for ever.
      abort.abort();
      const seen = await t.within('the end of the exec', 10_000, ending);
      expectThat('the end of the exec', seen !== 0, 'no success', seen);
    },
  },
  {
    id: 'SUS-007',
    title: 'settles suspends and resumes at once, and is usable after them',
    level: 'MUST',
    promise: 'suspend-resume',
    needs: ['suspend'],
    async run(t) {
      const handle = await t.sandbox();
      const calls = Array.from({ length: 6 }, (_, i) => (i % 2 ? t.adapter.resume(handle) : t.adapter.suspend(handle)));
      await t.within('all of them', 20_000, Promise.allSettled(calls));
      const resumed = await t.adapter.resume(handle);
      expectBytes('output', (await t.exec(resumed, t.words.print({ stdout: 'awake' }))).output, 'awake');
    },
  },
  {
    id: 'SUS-008',
    title: 'neither suspends nor resumes a sandbox that is missing',
    level: 'MUST',
    promise: 'not-found',
    needs: ['suspend'],
    async run(t) {
      const missing = t.adapter.buildHandle(t.newName());
      await expectRejection('suspend', t.adapter.suspend(missing), { code: 'not_found', effect: 'none' });
      await expectRejection('resume', t.adapter.resume(missing), { code: 'not_found', effect: 'none' });
    },
  },
];
