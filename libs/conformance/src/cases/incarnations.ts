import type { SandboxHandle } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { expectFile, expectUsable } from '../errands.js';
import { expectEqual, expectRejection, expectThat } from '../expect.js';
import { expectObedient, startPuppet } from '../session.js';

import { ON_A_SANDBOX, supported, supports } from './every-operation.js';

const NOT_FOUND = { code: 'not_found', effect: 'none' } as const;

/** @throws {Mismatch} unless it is frozen and says through JSON all that it says */
function expectValue(what: string, handle: SandboxHandle): void {
  expectThat(what, Object.isFrozen(handle), 'a frozen object', handle);
  const { provider, name, instanceId } = handle;
  const revived = JSON.parse(JSON.stringify(handle)) as SandboxHandle;
  expectEqual(`${what} after JSON`, revived, { provider, name, ...(instanceId !== undefined && { instanceId }) });
}

/** The handle of an incarnation that is gone, and of the one that has its name. */
async function twoOfOneName(t: CaseContext): Promise<{ gone: SandboxHandle; here: SandboxHandle }> {
  const name = t.newName();
  const gone = await t.adapter.createNew(name);
  await t.adapter.destroy(gone);
  return { gone, here: await t.adapter.createNew(name) };
}

export const incarnationCases: readonly ConformanceCase[] = [
  {
    id: 'HAN-009',
    title: 'gives handles that are frozen and survive JSON also from create and resume',
    level: 'MUST',
    promise: 'handles',
    async run(t) {
      const handle = await t.sandbox();
      expectValue('the handle of create', handle);
      if (supports(t, 'suspend')) expectValue('the handle of resume', await t.adapter.resume(handle));
    },
  },
  {
    id: 'HAN-010',
    title: 'keeps the incarnation in a handle over JSON, and over suspend and resume',
    level: 'MUST',
    promise: 'handles',
    needs: ['create_new', 'suspend'],
    async run(t) {
      const handle = await t.adapter.createNew(t.newName());
      expectValue('the handle of createNew', handle);
      await t.adapter.suspend(handle);
      const resumed = await t.adapter.resume(handle);
      expectEqual('instanceId after resume', resumed.instanceId, handle.instanceId);
    },
  },
  {
    id: 'HAN-011',
    title: 'terminates nothing of another incarnation than the one that the handle names',
    level: 'MUST',
    promise: 'handles',
    needs: ['create_new', 'terminate_session', 'attach'],
    async run(t) {
      const { gone, here } = await twoOfOneName(t);
      const { command, reading, id } = await startPuppet(t, here);
      for (const mode of ['graceful', 'force'] as const) {
        await expectRejection(`terminateSession, ${mode}`, t.adapter.terminateSession(gone, id, { mode }), NOT_FOUND);
      }
      await expectObedient(command, reading, 4);
    },
  },
  {
    id: 'HAN-013',
    title: 'does nothing with another incarnation than the one that the handle names, and tells nothing of it',
    level: 'MUST',
    promise: 'handles',
    needs: ['create_new', 'trait:exactIncarnations'],
    async run(t) {
      const { gone, here } = await twoOfOneName(t);
      await t.adapter.writeFile(here, 'file', 'kept');
      for (const { operation, call } of supported(ON_A_SANDBOX, t)) {
        await expectRejection(`${operation} of the one that is gone`, call(t.adapter, gone), NOT_FOUND);
      }
      if (supports(t, 'attach')) {
        const { id } = await startPuppet(t, here);
        await expectRejection('an attach to a session of the other', t.adapter.attach(gone, id), NOT_FOUND);
      }
      await expectFile(t, here, 'file', 'kept');
    },
  },
  {
    id: 'HAN-014',
    title: 'names in the handle of a command the incarnation that it was started in',
    level: 'MUST',
    promise: 'handles',
    needs: ['create_new'],
    async run(t) {
      const handle = await t.adapter.createNew(t.newName());
      const command = await t.spawn(handle, t.words.stay(), { detachable: true });
      expectEqual('the handle of a command', { ...command.handle }, { ...handle });
      if (!supports(t, 'attach')) return;
      const joined = await t.attach(handle, t.sessionId(command));
      expectEqual('the handle of an attached command', { ...joined.handle }, { ...handle });
    },
  },
  {
    id: 'HAN-015',
    title: 'does nothing with an incarnation that never was',
    level: 'MUST',
    promise: 'handles',
    async run(t) {
      const handle = await t.sandbox();
      const never = { ...handle, instanceId: '00000000-0000-4000-8000-000000000000' };
      await expectRejection('get', t.adapter.get(never), NOT_FOUND);
      await t.adapter.destroy(never);
      await expectUsable(t, handle);
    },
  },
  {
    id: 'CHK-006',
    title: 'restores nothing in another incarnation than the one that the handle names',
    level: 'MUST',
    promise: 'checkpoints',
    needs: ['create_new', 'checkpoint'],
    async run(t) {
      const { gone, here } = await twoOfOneName(t);
      await t.adapter.writeFile(here, 'file', 'then');
      const { id } = await t.adapter.createCheckpoint(here);
      await t.adapter.writeFile(here, 'file', 'later');
      await expectRejection('restoreCheckpoint', t.adapter.restoreCheckpoint(gone, id), NOT_FOUND);
      await expectFile(t, here, 'file', 'later');
    },
  },
];
