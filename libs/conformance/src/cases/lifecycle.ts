import type { SandboxHandle } from '#libs/contract';
import type { ConformanceCase } from '../conformance-case.js';
import { expectFile, expectNothingAt } from '../errands.js';
import { expectBytes, expectEqual, expectRejection, expectThat } from '../expect.js';
import { expectNoSuccess, startPlainPuppet } from '../session.js';
import { ON_A_SANDBOX, supported } from './every-operation.js';

const NOT_FOUND = { code: 'not_found', effect: 'none' } as const;

export const lifecycleCases: readonly ConformanceCase[] = [
  {
    id: 'LIF-001',
    title: 'creates a sandbox that get tells of',
    level: 'MUST',
    promise: 'create',
    async run(t) {
      const name = t.newName();
      const handle = await t.adapter.create(name);
      expectEqual('provider and name', [handle.provider, handle.name], [t.adapter.provider, name]);
      const { status } = await t.adapter.get(handle);
      const allowed = t.adapter.traits.parks === 'by_itself' ? ['running', 'suspended'] : ['running'];
      expectThat('status', allowed.includes(status), allowed.join(' or '), status);
    },
  },
  {
    id: 'LIF-002',
    title: 'adopts a sandbox that exists, with everything in it',
    level: 'MUST',
    promise: 'create',
    async run(t) {
      const first = await t.sandbox();
      await t.adapter.writeFile(first, 'file', 'kept');
      const second = await t.adapter.create(first.name);
      expectEqual('the name', second.name, first.name);
      await expectFile(t, second, 'file', 'kept');
    },
  },
  {
    id: 'LIF-003',
    title: 'makes one sandbox of several creates of one name at once',
    level: 'MUST',
    promise: 'create',
    async run(t) {
      const name = t.newName();
      const handles = await Promise.all(Array.from({ length: 5 }, () => t.adapter.create(name)));
      const [first] = handles as [(typeof handles)[number]];
      await t.adapter.writeFile(first, 'file', 'one');
      for (const handle of handles) {
        await expectFile(t, handle, 'file', 'one');
      }
      if (t.adapter.traits.listing === 'account') {
        const named = (await t.adapter.listAllNames()).filter((one) => one === name);
        expectEqual('sandboxes of that name', named.length, 1);
      }
    },
  },
  {
    id: 'LIF-004',
    title: 'answers not_found for a sandbox that never was, in every operation on one',
    level: 'MUST',
    promise: 'not-found',
    async run(t) {
      const missing = t.adapter.buildHandle(t.newName());
      for (const { operation, call } of supported(ON_A_SANDBOX, t)) {
        await expectRejection(operation, call(t.adapter, missing), NOT_FOUND);
      }
    },
  },
  {
    id: 'LIF-005',
    title: 'makes no sandbox by asking for one that is missing',
    level: 'MUST',
    promise: 'not-found',
    async run(t) {
      const missing = t.adapter.buildHandle(t.newName());
      await expectRejection('exec', t.exec(missing, t.words.print({})), NOT_FOUND);
      await expectRejection('writeFile', t.adapter.writeFile(missing, 'file', 'content'), NOT_FOUND);
      await expectRejection('get after them', t.adapter.get(missing), NOT_FOUND);
    },
  },
  {
    id: 'LIF-006',
    title: 'knows nothing of a sandbox that was destroyed',
    level: 'MUST',
    promise: 'destroy',
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.destroy(handle);
      await expectRejection('get', t.adapter.get(handle), NOT_FOUND);
      await expectRejection('exec', t.exec(handle, t.words.print({})), NOT_FOUND);
      expectEqual('names', (await t.adapter.listAllNames()).includes(handle.name), false);
    },
  },
  {
    id: 'LIF-007',
    title: 'destroys what is gone or never was, without complaint',
    level: 'MUST',
    promise: 'destroy',
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.destroy(handle);
      await t.adapter.destroy(handle);
      await t.adapter.destroy(t.adapter.buildHandle(t.newName()));
    },
  },
  {
    id: 'LIF-008',
    title: 'ends what runs in a sandbox with the sandbox, and tells its readers',
    level: 'MUST',
    promise: 'destroy',
    async run(t) {
      const handle = await t.sandbox();
      const plain = await t.run(handle, t.words.stay());
      const detached = await t.run(handle, t.words.stay(), { detachable: true });
      const exec = t.exec(handle, t.words.stay()).then(
        ({ exitCode }) => exitCode,
        (error: unknown) => error,
      );
      await plain.shows('ready\n');
      await detached.shows('ready\n');
      await t.adapter.destroy(handle);
      for (const reading of [plain, detached]) {
        await expectNoSuccess(t, reading);
      }
      const ending = await t.within('the end of an exec', 10_000, exec);
      expectThat('the end of an exec', ending !== 0, 'no success', ending);
    },
  },
  {
    id: 'LIF-009',
    title: 'begins again with nothing under a name that was destroyed',
    level: 'MUST',
    promise: 'destroy',
    async run(t) {
      const name = t.newName();
      const first = await t.adapter.create(name);
      await t.adapter.writeFile(first, 'file', 'of the first');
      await t.adapter.destroy(first);
      const second = await t.adapter.create(name);
      await expectNothingAt(t, second, 'file');
    },
  },
  {
    id: 'LIF-010',
    title: 'is of one mind after create and destroy of one name at once',
    level: 'MUST',
    promise: 'destroy',
    async run(t) {
      const name = t.newName();
      const handle = t.adapter.buildHandle(name);
      for (let round = 0; round < 5; round++) {
        await Promise.allSettled([t.adapter.create(name), t.adapter.destroy(handle), t.adapter.create(name)]);
        const there = await t.adapter.get(handle).then(
          () => true,
          (error: unknown) => !(error instanceof Error && 'code' in error && error.code === 'not_found'),
        );
        if (there) expectBytes('output', (await t.exec(handle, t.words.print({ stdout: 'here' }))).output, 'here');
        else await expectRejection('exec', t.exec(handle, t.words.print({})), NOT_FOUND);
      }
    },
  },
  {
    id: 'LIF-011',
    title: 'takes several destroys of one sandbox at once',
    level: 'MUST',
    promise: 'destroy',
    async run(t) {
      const handle = await t.sandbox();
      await Promise.all(Array.from({ length: 4 }, () => t.adapter.destroy(handle)));
      await expectRejection('get', t.adapter.get(handle), NOT_FOUND);
    },
  },
  {
    id: 'LIF-012',
    title: 'leaves every other sandbox alone when it destroys one',
    level: 'MUST',
    promise: 'destroy',
    async run(t) {
      const [kept, gone] = [await t.sandbox(), await t.sandbox()];
      await t.adapter.writeFile(kept, 'file', 'kept');
      const { command, reading } = await startPlainPuppet(t, kept);
      await t.adapter.destroy(gone);
      await command.closeStdin();
      expectEqual('exit code of a command of the other', (await reading.exit()).exitCode, 0);
      await expectFile(t, kept, 'file', 'kept');
    },
  },
  {
    id: 'NEW-001',
    title: 'gives the provider’s own id of what createNew made',
    level: 'MUST',
    promise: 'create',
    needs: ['create_new'],
    async run(t) {
      const name = t.newName();
      const handle = await t.adapter.createNew(name);
      expectEqual('the name', handle.name, name);
      const { instanceId } = handle;
      expectThat('instanceId', typeof instanceId === 'string' && instanceId !== '', 'some text', instanceId);
      expectBytes('output', (await t.exec(handle, t.words.print({ stdout: 'here' }))).output, 'here');
    },
  },
  {
    id: 'NEW-002',
    title: 'refuses a name that is taken in createNew, and leaves its sandbox as it is',
    level: 'MUST',
    promise: 'create',
    needs: ['create_new'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'kept');
      await expectRejection('createNew', t.adapter.createNew(handle.name), { code: 'already_exists', effect: 'none' });
      await expectFile(t, handle, 'file', 'kept');
    },
  },
  {
    id: 'NEW-003',
    title: 'gives another id to a sandbox that takes the name of a destroyed one',
    level: 'MUST',
    promise: 'create',
    needs: ['create_new'],
    async run(t) {
      const name = t.newName();
      const ids: unknown[] = [];
      for (let round = 0; round < 3; round++) {
        const handle = await t.adapter.createNew(name);
        ids.push(handle.instanceId);
        await t.adapter.destroy(handle);
      }
      expectEqual('different ids', new Set(ids).size, 3);
    },
  },
  {
    id: 'NEW-004',
    title: 'lets one of several createNew of one name succeed',
    level: 'MUST',
    promise: 'create',
    needs: ['create_new'],
    async run(t) {
      const name = t.newName();
      const attempts = await Promise.allSettled(Array.from({ length: 4 }, () => t.adapter.createNew(name)));
      const made = attempts.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      expectEqual('createNew that succeeded', made.length, 1);
      for (const one of attempts) {
        if (one.status === 'rejected') {
          await expectRejection('the others', Promise.reject(one.reason as Error), { code: 'already_exists' });
        }
      }
    },
  },
  {
    id: 'NEW-005',
    title: 'adopts in create what createNew made',
    level: 'MUST',
    promise: 'create',
    needs: ['create_new'],
    async run(t) {
      const made = await t.adapter.createNew(t.newName());
      await t.adapter.writeFile(made, 'file', 'kept');
      const adopted = await t.adapter.create(made.name);
      if (adopted.instanceId !== undefined) expectEqual('instanceId', adopted.instanceId, made.instanceId);
      await expectFile(t, adopted, 'file', 'kept');
    },
  },
  {
    id: 'LST-001',
    title: 'lists every sandbox, each once, also where a page holds fewer',
    level: 'MUST',
    promise: 'listing',
    async run(t) {
      const handles: SandboxHandle[] = [];
      // So that the last page is sometimes full, whatever it holds.
      for (let round = 0; round < 5; round++) {
        handles.push(await t.sandbox());
        const names = await t.adapter.listAllNames();
        for (const { name } of handles) {
          expectEqual('times that a created one is listed', names.filter((one) => one === name).length, 1);
        }
      }
    },
  },
  {
    id: 'LST-002',
    title: 'lists a sandbox also while it is suspended, and no more once it is destroyed',
    level: 'MUST',
    promise: 'listing',
    needs: ['suspend'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.suspend(handle);
      expectEqual('listed while suspended', (await t.adapter.listAllNames()).includes(handle.name), true);
      await t.adapter.destroy(handle);
      expectEqual('listed when destroyed', (await t.adapter.listAllNames()).includes(handle.name), false);
    },
  },
];
