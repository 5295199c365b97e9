import type { SandboxHandle } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { expectFile, expectGone, expectUsable, untilExists } from '../errands.js';
import { expectBytes, expectEqual, expectError, expectRejection } from '../expect.js';
import {
  attachAndRead,
  expectExit,
  expectListed,
  expectObedient,
  expectTerminated,
  say,
  start,
  startPuppet,
  startReady,
  startSession,
} from '../session.js';

const ERRAND = { trigger: 'go', mark: 'made' } as const;

const INVALID = { code: 'invalid', detail: 'argument', effect: 'none' } as const;

/** Every malformed argument is refused. @throws {Mismatch} */
async function expectMalformed(t: CaseContext, handle: SandboxHandle, id: string): Promise<void> {
  for (const odd of ['', '../x', 'a b', 'x'.repeat(257), 'ä', 7, null, undefined]) {
    const call = t.adapter.terminateSession(handle, odd as string);
    await expectRejection(`the id ${JSON.stringify(odd)}`, call, INVALID);
  }
  for (const timeoutMs of [0, -1, 30_001, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '100', null]) {
    const call = t.adapter.terminateSession(handle, id, { timeoutMs: timeoutMs as number });
    await expectRejection(`timeoutMs ${timeoutMs}`, call, INVALID);
  }
  for (const mode of ['kill', '', 9, null]) {
    const call = t.adapter.terminateSession(handle, id, { mode: mode as 'force' });
    await expectRejection(`mode ${JSON.stringify(mode)}`, call, INVALID);
  }
}

export const terminateCases: readonly ConformanceCase[] = [
  {
    id: 'TER-001',
    title: 'leaves a session alone that it cannot terminate, and says so',
    level: 'MUST',
    promise: 'terminate',
    lacks: 'terminate_session',
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading } = await start(t, handle, t.words.puppet(), { stdin: true, detachable: true });
      const { sessionId = 'some-id' } = command;
      for (const mode of ['graceful', 'force'] as const) {
        const call = t.adapter.terminateSession(handle, sessionId, { mode });
        await expectRejection(`terminateSession, ${mode}`, call, { code: 'not_supported', effect: 'none' });
      }
      await expectObedient(command, reading, 4);
    },
  },
  {
    id: 'TER-002',
    title: 'resolves once the process is gone: it does nothing more and is not listed',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { id } = await startReady(t, handle, t.words.family(ERRAND));
      await t.adapter.terminateSession(handle, id);
      await expectListed(t, handle, []);
      await expectGone(t, handle, ERRAND);
    },
  },
  {
    id: 'TER-003',
    title: 'ends the output of what was terminated with a death or an error, never with a success',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      for (const mode of ['graceful', 'force'] as const) {
        const { reading, id } = await startSession(t, handle, t.words.stay());
        const joined = await attachAndRead(t, handle, id);
        await reading.shows('ready\n');
        await t.adapter.terminateSession(handle, id, { mode });
        await expectTerminated(t, reading);
        await expectTerminated(t, joined);
      }
    },
  },
  {
    id: 'TER-004',
    title: 'kills after its grace what is deaf to TERM, and resolves when that is gone',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { reading, id } = await startReady(t, handle, t.words.family({ ...ERRAND, deaf: true }));
      const call = t.adapter.terminateSession(handle, id, { timeoutMs: 300 });
      await t.within('terminateSession', 300 + 5_000, call);
      await expectListed(t, handle, []);
      await expectGone(t, handle, ERRAND);
      await expectTerminated(t, reading);
    },
  },
  {
    id: 'TER-005',
    title: 'gives its grace: what is deaf to TERM lives until it is over',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { id } = await startReady(t, handle, t.words.family({ ...ERRAND, deaf: true }));
      const over = new AbortController();
      const call = t.adapter.terminateSession(handle, id, { timeoutMs: 30_000, signal: over.signal });
      const rejection = expectRejection('terminateSession', call, { code: 'aborted' });
      await t.exec(handle, t.words.touch(ERRAND.trigger));
      await untilExists(t, handle, ERRAND.mark);
      over.abort();
      await rejection;
      await t.adapter.terminateSession(handle, id, { mode: 'force' });
    },
  },
  {
    id: 'TER-006',
    title: 'kills at once when it is forced, whatever the grace',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { reading, id } = await startReady(t, handle, t.words.family({ ...ERRAND, deaf: true }));
      const call = t.adapter.terminateSession(handle, id, { mode: 'force', timeoutMs: 30_000 });
      await t.within('terminateSession', 5_000, call);
      await expectGone(t, handle, ERRAND);
      await expectTerminated(t, reading);
    },
  },
  {
    id: 'TER-007',
    title: 'succeeds again for what was terminated, and at once for several calls',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { id } = await startReady(t, handle, t.words.stay());
      await Promise.all(Array.from({ length: 4 }, () => t.adapter.terminateSession(handle, id)));
      await t.adapter.terminateSession(handle, id);
      await t.adapter.terminateSession(handle, id, { mode: 'force' });
      await expectListed(t, handle, []);
    },
  },
  {
    id: 'TER-008',
    title: 'succeeds for a session that had ended, and leaves its exit as it was',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { reading, id } = await startSession(t, handle, t.words.print({ stdout: 'whole', exitCode: 9 }));
      await reading.exit();
      await t.adapter.terminateSession(handle, id);
      const replay = await attachAndRead(t, handle, id);
      await expectExit(replay, 9, 'whole');
    },
  },
  {
    id: 'TER-009',
    title: 'succeeds for a session that is definitely not there',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session'],
    async run(t) {
      const handle = await t.sandbox();
      for (const id of ['no-such-session', 'x'.repeat(256), '__proto__']) await t.adapter.terminateSession(handle, id);
      await expectUsable(t, handle);
    },
  },
  {
    id: 'TER-010',
    title: 'refuses malformed ids, times and modes before it sends anything, and terminates nothing',
    level: 'MUST',
    promise: 'errors',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      // What runs may cause requests of its own, so these are counted where nothing does.
      const before = t.subject.insight?.requestCount?.();
      await expectMalformed(t, handle, 'some-session');
      expectEqual('requests', t.subject.insight?.requestCount?.(), before);
      const { command, reading, id } = await startPuppet(t, handle);
      await expectMalformed(t, handle, id);
      await expectObedient(command, reading, 4);
    },
  },
  {
    id: 'TER-011',
    title: 'touches neither other sessions nor the sandbox',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'kept');
      const gone = await startSession(t, handle, t.words.stay());
      const kept = await startPuppet(t, handle);
      const plain = await t.spawn(handle, t.words.puppet(), { stdin: true });
      const plainReading = t.read(plain);
      await gone.reading.shows('ready\n');
      await t.adapter.terminateSession(handle, gone.id);
      await expectListed(t, handle, [kept.id]);
      await say(kept.command, 'alive');
      await expectObedient(kept.command, kept.reading, 5);
      await expectObedient(plain, plainReading, 6);
      await expectFile(t, handle, 'file', 'kept');
    },
  },
  {
    id: 'TER-012',
    title: 'touches nothing with the id of a session of another sandbox',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const [handle, other] = [await t.sandbox(), await t.sandbox()];
      const { command, reading, id } = await startPuppet(t, handle);
      for (const mode of ['graceful', 'force'] as const) await t.adapter.terminateSession(other, id, { mode });
      await expectListed(t, handle, [id]);
      await say(command, 'alive');
      await expectObedient(command, reading, 5, 'alive');
    },
  },
  {
    id: 'TER-013',
    title: 'terminates a session that nobody reads, and one that is not detachable',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const errand = { trigger: 'go', mark: 'second' } as const;
      const alone = await startSession(t, handle, t.words.family(ERRAND));
      const plain = await startSession(t, handle, t.words.family(errand), { detachable: false });
      await alone.reading.shows('ready\n');
      await plain.reading.shows('ready\n');
      await alone.command.stop();
      await t.adapter.terminateSession(handle, alone.id);
      await t.adapter.terminateSession(handle, plain.id);
      await expectGone(t, handle, ERRAND);
      await expectGone(t, handle, errand);
    },
  },
  {
    id: 'TER-014',
    title: 'terminates a session whose output stands still because nobody takes it',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const command = await t.spawn(handle, t.words.flood(), { detachable: true });
      await t.eventually('the first output', () => command.outputBytes > 0 || undefined);
      await t.within('terminateSession', 15_000, t.adapter.terminateSession(handle, t.sessionId(command)));
      await expectListed(t, handle, []);
    },
  },
  {
    id: 'TER-015',
    title: 'terminates nothing when its signal had fired, and gives its reason',
    level: 'MUST',
    promise: 'deadlines',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startPuppet(t, handle);
      const reason = new Error('no more');
      const call = t.adapter.terminateSession(handle, id, { signal: AbortSignal.abort(reason) });
      await expectRejection('terminateSession', call, { code: 'aborted', effect: 'none', cause: reason });
      await expectObedient(command, reading, 4);
    },
  },
  {
    id: 'TER-016',
    title: 'does not wait out the grace when its signal fires, and claims nothing',
    level: 'MUST',
    promise: 'deadlines',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { id } = await startReady(t, handle, t.words.stayThroughTerm());
      const abort = new AbortController();
      const call = t.adapter.terminateSession(handle, id, { timeoutMs: 30_000, signal: abort.signal });
      call.catch(() => {});
      await expectListed(t, handle, [id]);
      const reason = new Error('no more');
      abort.abort(reason);
      const aborted = { code: 'aborted', effect: 'unknown', cause: reason } as const;
      await t.within('the abort', 5_000, expectRejection('terminateSession', call, aborted));
      await t.adapter.terminateSession(handle, id, { mode: 'force' });
      await expectListed(t, handle, []);
    },
  },
  {
    id: 'TER-017',
    title: 'claims no success without a confirmation when an answer is lost, and destroys nothing',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach', 'fault:failAfter'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'kept');
      const { id } = await startReady(t, handle, t.words.stay());
      const heal = await t.inject('failAfter', 'terminateSession');
      const confirmed = await t.adapter.terminateSession(handle, id).then(
        () => true,
        (error: unknown) => !expectError('terminateSession', error, { code: 'unavailable', effect: 'unknown' }),
      );
      await heal();
      // A look at what runs may have confirmed it.
      if (confirmed) await expectListed(t, handle, []);
      await expectFile(t, handle, 'file', 'kept');
      await t.adapter.terminateSession(handle, id);
      await expectListed(t, handle, []);
    },
  },
  {
    id: 'TER-018',
    title: 'leaves a session running whose termination was refused, and says that it may help to try again',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach', 'fault:failBefore'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startPuppet(t, handle);
      const heal = await t.inject('failBefore', 'terminateSession');
      await expectRejection('terminateSession', t.adapter.terminateSession(handle, id), {
        code: ['unavailable', 'rate_limited'],
        effect: ['none', 'unknown'],
      });
      await heal();
      await expectListed(t, handle, [id]);
      await expectObedient(command, reading, 4);
    },
  },
  {
    id: 'TER-020',
    title: 'keeps what a terminated session wrote, and replays no success',
    level: 'MUST',
    promise: 'replay',
    needs: ['terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      for (const mode of ['graceful', 'force'] as const) {
        const { id } = await startReady(t, handle, t.words.stay());
        await t.adapter.terminateSession(handle, id, { mode });
        const replay = await attachAndRead(t, handle, id);
        await expectTerminated(t, replay);
        expectBytes('the output', replay.stdout, 'ready\n');
      }
    },
  },
];
