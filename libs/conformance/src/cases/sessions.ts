import type { ConformanceCase } from '../conformance-case.js';
import { expectEqual, expectError, expectRejection, expectThat } from '../expect.js';
import {
  attachAndRead,
  countOutput,
  expectExit,
  expectListed,
  expectNoSuccess,
  expectObedient,
  expectOutput,
  leave,
  say,
  startPuppet,
  startReady,
  startSaying,
  startSession,
} from '../session.js';

const NOT_FOUND = { code: 'not_found', effect: 'none' } as const;
const MINUTE_MS = 60_000;

export const sessionCases: readonly ConformanceCase[] = [
  {
    id: 'SES-001',
    title: 'lists a running detachable session under the id of its command',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { id } = await startSession(t, handle, t.words.stay());
      await expectListed(t, handle, [id]);
    },
  },
  {
    id: 'SES-002',
    title: 'lists no session that is not detachable',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const reading = await t.run(handle, t.words.stay());
      await reading.shows('ready\n');
      await expectListed(t, handle, []);
    },
  },
  {
    id: 'SES-003',
    title: 'lists a session no more once its exit was told',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading } = await startPuppet(t, handle);
      expectEqual('sessions while it runs', (await t.adapter.listSessions(handle)).length, 1);
      await leave(command, 0);
      await reading.exit();
      await expectListed(t, handle, []);
    },
  },
  {
    id: 'SES-004',
    title: 'tells of a session its command, since when it runs, and that it has no terminal',
    level: 'SHOULD',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const words = t.words.stay();
      const beforeMs = Date.now();
      await startSession(t, handle, words);
      const [session] = await t.adapter.listSessions(handle);
      expectThat('the list', session !== undefined, 'one session', session);
      const { command, createdAt, lastActivityAt, tty } = session;
      expectEqual('tty', tty, false);
      if (command !== undefined) expectThat('command', command.includes(words.cmd), `${words.cmd} in it`, command);
      // Clocks of machines differ, by less than this.
      const isNow = (date: Date): boolean =>
        date.getTime() > beforeMs - 10 * MINUTE_MS && date.getTime() < Date.now() + 10 * MINUTE_MS;
      if (createdAt !== undefined) expectThat('createdAt', isNow(createdAt), 'a date of these minutes', createdAt);
      if (lastActivityAt !== undefined) {
        const isLater = createdAt === undefined || lastActivityAt >= createdAt;
        expectThat('lastActivityAt', isNow(lastActivityAt) && isLater, 'one not before createdAt', lastActivityAt);
      }
    },
  },
  {
    id: 'SES-005',
    title: 'lists every running detachable session of a sandbox, each once, and none of another',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const [handle, other] = [await t.sandbox(), await t.sandbox()];
      const started = await Promise.all(Array.from({ length: 4 }, () => startSession(t, handle, t.words.stay())));
      const foreign = await startSession(t, other, t.words.stay());
      const idsOf = async (of: typeof handle): Promise<string[]> =>
        (await t.adapter.listSessions(of)).map(({ id }) => id).toSorted();
      expectEqual('ids', await idsOf(handle), started.map(({ id }) => id).toSorted());
      expectEqual('ids of the other', await idsOf(other), [foreign.id]);
    },
  },
  {
    id: 'SES-006',
    title: 'lists nothing where no session runs, whatever exec does',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      await expectListed(t, handle, []);
      const pending = t.exec(handle, t.words.pause(200));
      pending.catch(() => {});
      await expectListed(t, handle, []);
      await pending;
      await expectListed(t, handle, []);
    },
  },
  {
    id: 'SES-007',
    title: 'gives every session an id of its own that fits a URL and a file name',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const handles = [await t.sandbox(), await t.sandbox()];
      const ids: string[] = [];
      for (const handle of handles) {
        for (let n = 0; n < 3; n++) {
          const { reading, id } = await startSession(t, handle, t.words.print({}));
          await reading.exit();
          ids.push(id);
        }
      }
      const odd = ids.filter((id) => !/^[A-Za-z0-9_-]{1,256}$/.test(id));
      expectEqual('ids with other characters', odd, []);
      expectEqual('distinct ids', new Set(ids).size, ids.length);
    },
  },
  {
    id: 'SES-008',
    title: 'keeps a session running, listed and writable whose command was let go of',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, id } = await startSaying(t, handle, 'before ');
      await command.stop();
      await expectListed(t, handle, [id]);
      const again = await t.attach(handle, id, { stdin: true });
      const replay = t.read(again);
      await say(again, 'and after');
      await expectObedient(again, replay, 7, 'before and after');
    },
  },
  {
    id: 'SES-009',
    title: 'keeps the output and the exit of a session that ended while nobody read',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const both = t.tells.stderrApart;
      const { cmd, args } = t.words.count(3_000, both);
      const command = await t.spawn(handle, { cmd, args }, { detachable: true });
      const id = t.sessionId(command);
      await command.stop();
      await t.eventually('that the session has ended', async () => {
        return (await t.adapter.listSessions(handle)).length === 0 || undefined;
      });
      const replay = await attachAndRead(t, handle, id);
      await expectExit(replay, 0);
      expectOutput('a session that nobody read', replay, countOutput(3_000, both));
    },
  },
  {
    id: 'SES-010',
    title: 'lets a client that knows nothing find a session, read it from its beginning and write to it',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach', 'insight:anotherClient'],
    async run(t) {
      const handle = await t.sandbox();
      const { command } = await startSaying(t, handle, 'from the first, ');
      await command.stop();
      const other = await t.anotherClient();
      const found = other.buildHandle(handle.name);
      const [session] = await other.listSessions(found);
      expectThat('what the other client lists', session !== undefined, 'the session', session);
      const joined = await other.attach(found, session.id, { stdin: true });
      t.defer(() => joined.stop());
      const replay = t.read(joined);
      await say(joined, 'from the other');
      await expectObedient(joined, replay, 5, 'from the first, from the other');
    },
  },
  {
    id: 'SES-011',
    title: 'leaves a session alone when one of its readers lets go',
    level: 'MUST',
    promise: 'detach',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startPuppet(t, handle);
      const joined = await t.attach(handle, id);
      const replay = t.read(joined);
      await say(command, 'before ');
      await replay.shows('before ');
      await joined.stop();
      await say(command, 'and after');
      await expectObedient(command, reading, 3, 'before and after');
      const ended = await replay.error();
      expectError('the end of the reader that left', ended, { code: 'unavailable', detail: 'detached' });
    },
  },
  {
    id: 'SES-012',
    title: 'ends every reader of a session with its sandbox, and none of them with a success',
    level: 'MUST',
    promise: 'destroy',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { reading, id } = await startSession(t, handle, t.words.stay());
      const replays = await Promise.all([0, 1].map(() => attachAndRead(t, handle, id)));
      const readings = [reading, ...replays];
      for (const one of readings) await one.shows('ready\n');
      await t.adapter.destroy(handle);
      for (const one of readings) {
        await expectNoSuccess(t, one);
      }
    },
  },
  {
    id: 'SES-013',
    title: 'ends an attach that meets the end of its sandbox',
    level: 'MUST',
    promise: 'destroy',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { id } = await startReady(t, handle, t.words.stay());
      const attempts = Array.from({ length: 8 }, async () => {
        try {
          return await (
            await attachAndRead(t, handle, id)
          ).ended;
        } catch (error) {
          return { error };
        }
      });
      const [endings] = await Promise.all([Promise.all(attempts), t.adapter.destroy(handle)]);
      for (const ending of endings) {
        expectThat('the end of an attach', !('exit' in ending) || ending.exit.exitCode !== 0, 'no success', ending);
      }
    },
  },
  {
    id: 'SES-014',
    title: 'knows no session of a destroyed sandbox, nor after another took its name',
    level: 'MUST',
    promise: 'not-found',
    needs: ['attach'],
    async run(t) {
      const name = t.newName();
      const first = await t.adapter.create(name);
      const running = await startSession(t, first, t.words.stay());
      const ended = await startSession(t, first, t.words.print({ stdout: 'of the first' }));
      await ended.reading.exit();
      await t.adapter.destroy(first);
      await expectRejection('a list', t.adapter.listSessions(first), NOT_FOUND);
      await expectRejection('an attach', t.adapter.attach(first, running.id), NOT_FOUND);
      const second = await t.adapter.create(name);
      await expectListed(t, second, []);
      await expectRejection('an attach to what ran', t.adapter.attach(second, running.id), NOT_FOUND);
      await expectRejection('an attach to what had ended', t.adapter.attach(second, ended.id), NOT_FOUND);
    },
  },
];
