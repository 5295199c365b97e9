import type { SandboxHandle } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { expectGone } from '../errands.js';
import { expectBytes, expectEqual, expectRejection, expectThat } from '../expect.js';
import type { Reading } from '../reading.js';
import { expectStopped, leave, say, startPuppet, startSession } from '../session.js';

const ERRAND = { trigger: 'go', mark: 'made' } as const;

async function expectListed(t: CaseContext, handle: SandboxHandle, ids: readonly string[]): Promise<void> {
  expectEqual('sessions', (await t.adapter.listSessions(handle)).map(({ id }) => id).toSorted(), ids.toSorted());
}

/** The stream of what was terminated ends, and never with a success. */
async function expectHonestEnd(t: CaseContext, reading: Reading): Promise<void> {
  const ending = await t.within('the end of the output', 10_000, reading.ended);
  if ('exit' in ending) expectStopped('the exit of what was terminated', ending.exit);
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
      const command = await t.spawn(handle, t.words.puppet(), { stdin: true, detachable: true });
      const reading = t.read(command);
      const { sessionId = 'some-id' } = command;
      for (const mode of ['graceful', 'force'] as const) {
        const call = t.adapter.terminateSession(handle, sessionId, { mode });
        await expectRejection(`terminateSession, ${mode}`, call, { code: 'not_supported', effect: 'none' });
      }
      await leave(command, 4);
      expectEqual('exit', await reading.exit(), { exitCode: 4 });
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
      const { reading, id } = await startSession(t, handle, t.words.family(ERRAND));
      await reading.shows('ready\n');
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
        const joined = t.read(await t.attach(handle, id));
        await reading.shows('ready\n');
        await t.adapter.terminateSession(handle, id, { mode });
        await expectHonestEnd(t, reading);
        await expectHonestEnd(t, joined);
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
      const { reading, id } = await startSession(t, handle, t.words.family({ ...ERRAND, deaf: true }));
      await reading.shows('ready\n');
      const call = t.adapter.terminateSession(handle, id, { timeoutMs: 300 });
      await t.within('terminateSession', 300 + 5_000, call);
      await expectListed(t, handle, []);
      await expectGone(t, handle, ERRAND);
      await expectHonestEnd(t, reading);
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
      const { reading, id } = await startSession(t, handle, t.words.family({ ...ERRAND, deaf: true }));
      await reading.shows('ready\n');
      const call = t.adapter.terminateSession(handle, id, { timeoutMs: t.ms(2_000) });
      call.catch(() => {});
      await t.exec(handle, t.words.touch(ERRAND.trigger));
      await t.eventually('a sign of life during the grace', async () => {
        return (await t.exec(handle, t.words.exists(ERRAND.mark))).exitCode === 0 || undefined;
      });
      await call;
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
      const { reading, id } = await startSession(t, handle, t.words.family({ ...ERRAND, deaf: true }));
      await reading.shows('ready\n');
      const call = t.adapter.terminateSession(handle, id, { mode: 'force', timeoutMs: 30_000 });
      await t.within('terminateSession', 5_000, call);
      await expectGone(t, handle, ERRAND);
      await expectHonestEnd(t, reading);
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
      const { reading, id } = await startSession(t, handle, t.words.stay());
      await reading.shows('ready\n');
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
      const replay = t.read(await t.attach(handle, id));
      expectEqual('exit', await replay.exit(), { exitCode: 9 });
      expectBytes('the output', replay.stdout, 'whole');
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
      expectEqual('exit code afterwards', (await t.exec(handle, t.words.print({ exitCode: 3 }))).exitCode, 3);
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
      const { command, reading, id } = await startPuppet(t, handle);
      const before = t.subject.insight?.requestCount?.();
      const invalid = { code: 'invalid', detail: 'argument', effect: 'none' } as const;
      for (const odd of ['', '../x', 'a b', 'x'.repeat(257), 'ä', 7, null, undefined]) {
        const call = t.adapter.terminateSession(handle, odd as string);
        await expectRejection(`the id ${JSON.stringify(odd)}`, call, invalid);
      }
      for (const timeoutMs of [0, -1, 30_001, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '100', null]) {
        const call = t.adapter.terminateSession(handle, id, { timeoutMs: timeoutMs as number });
        await expectRejection(`timeoutMs ${timeoutMs}`, call, invalid);
      }
      for (const mode of ['kill', '', 9, null]) {
        const call = t.adapter.terminateSession(handle, id, { mode: mode as 'force' });
        await expectRejection(`mode ${JSON.stringify(mode)}`, call, invalid);
      }
      expectEqual('requests', t.subject.insight?.requestCount?.(), before);
      await leave(command, 4);
      expectEqual('exit', await reading.exit(), { exitCode: 4 });
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
      await leave(kept.command, 5);
      expectEqual('exit of the other', await kept.reading.exit(), { exitCode: 5 });
      await leave(plain, 6);
      expectEqual('exit of a command', await plainReading.exit(), { exitCode: 6 });
      expectBytes('a file', (await t.exec(handle, t.words.showFile('file'))).output, 'kept');
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
      await leave(command, 5);
      expectEqual('exit', await reading.exit(), { exitCode: 5 });
      expectBytes('the output', reading.stdout, 'alive');
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
      const error = await expectRejection('terminateSession', call, { code: 'aborted', effect: 'none' });
      expectThat('its cause', error.cause === reason, 'the reason of the signal', error.cause);
      await leave(command, 4);
      expectEqual('exit', await reading.exit(), { exitCode: 4 });
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
      const { reading, id } = await startSession(t, handle, t.words.stayThroughTerm());
      await reading.shows('ready\n');
      const abort = new AbortController();
      const call = t.adapter.terminateSession(handle, id, { timeoutMs: 30_000, signal: abort.signal });
      call.catch(() => {});
      await expectListed(t, handle, [id]);
      const reason = new Error('no more');
      abort.abort(reason);
      const rejection = expectRejection('terminateSession', call, { code: 'aborted', effect: 'unknown' });
      const error = await t.within('the abort', 5_000, rejection);
      expectThat('its cause', error.cause === reason, 'the reason of the signal', error.cause);
      await t.adapter.terminateSession(handle, id, { mode: 'force' });
      await expectListed(t, handle, []);
    },
  },
  {
    id: 'TER-017',
    title: 'claims neither success nor failure when the confirmation is lost, does not try again, and destroys nothing',
    level: 'MUST',
    promise: 'terminate',
    needs: ['terminate_session', 'attach', 'fault:failAfter'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'kept');
      const { reading, id } = await startSession(t, handle, t.words.stay());
      await reading.shows('ready\n');
      const heal = await t.inject('failAfter', 'terminateSession');
      const call = t.adapter.terminateSession(handle, id);
      await expectRejection('terminateSession', call, { code: 'unavailable', effect: 'unknown' });
      await heal();
      expectBytes('a file', (await t.exec(handle, t.words.showFile('file'))).output, 'kept');
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
      await leave(command, 4);
      expectEqual('exit', await reading.exit(), { exitCode: 4 });
    },
  },
];
