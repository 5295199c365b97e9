import type { ConformanceCase } from '../conformance-case.js';
import { expectEqual, expectRejection, expectThat } from '../expect.js';
import { expectListed, leave } from '../session.js';

const NOT_FOUND = { code: 'not_found', effect: 'none' } as const;

/** What was asked before must not be remembered: somebody else may have changed it. */
export const otherClientCases: readonly ConformanceCase[] = [
  {
    id: 'HAN-012',
    title: 'sees at once what another client has destroyed and created, however often it was asked before',
    level: 'MUST',
    promise: 'listing',
    needs: ['insight:anotherClient'],
    async run(t) {
      const handle = await t.sandbox();
      const other = await t.anotherClient();
      const theirs = other.buildHandle(handle.name);
      const isListed = async (): Promise<boolean> => (await t.adapter.listAllNames()).includes(handle.name);
      await t.adapter.get(handle);
      expectEqual('listed before', await isListed(), true);
      await other.destroy(theirs);
      await expectRejection('get of what another destroyed', t.adapter.get(handle), NOT_FOUND);
      expectEqual('listed when another has destroyed it', await isListed(), false);
      await other.create(handle.name);
      expectThat('get', (await t.adapter.get(handle)).status !== 'unknown', 'a known status', 'unknown');
      expectEqual('listed when another has created it', await isListed(), true);
    },
  },
  {
    id: 'NEW-006',
    title: 'gives another id also to what another client makes under the name of a destroyed one',
    level: 'MUST',
    promise: 'create',
    needs: ['create_new', 'insight:anotherClient'],
    async run(t) {
      const name = t.newName();
      const first = await t.adapter.createNew(name);
      await t.adapter.destroy(first);
      const other = await t.anotherClient();
      const second = await other.createNew(name);
      expectThat('the second id', second.instanceId !== first.instanceId, 'another than the first', second.instanceId);
      await expectRejection('get of the first', other.get(first), NOT_FOUND);
      await t.adapter.get(second);
    },
  },
  {
    id: 'SES-015',
    title: 'lists at once what another client has started, and no more what it has ended',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach', 'insight:anotherClient'],
    async run(t) {
      const handle = await t.sandbox();
      await expectListed(t, handle, []);
      const other = await t.anotherClient();
      const { cmd, args } = t.words.puppet();
      const options = { stdin: true, detachable: true };
      const command = await other.spawn(other.buildHandle(handle.name), cmd, args, options);
      t.defer(() => command.stop());
      const id = t.sessionId(command);
      const ids = async (): Promise<string[]> => (await t.adapter.listSessions(handle)).map((one) => one.id);
      expectEqual('sessions when another has started one', await ids(), [id]);
      await leave(command, 0);
      await t.read(command).exit();
      await t.eventually('that what has ended is not listed', async () => (await ids()).length === 0 || undefined);
    },
  },
];
