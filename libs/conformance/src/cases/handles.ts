import { inspect } from 'node:util';
import type { SandboxHandle } from '#libs/contract';
import type { ConformanceCase } from '../conformance-case.js';
import { expectFile } from '../errands.js';
import { expectBytes, expectEqual, expectRejection, expectThat } from '../expect.js';
import { EVERY_OPERATION, ON_A_SANDBOX, supported } from './every-operation.js';

const INVALID = { code: 'invalid', detail: 'argument', effect: 'none' } as const;

export const handleCases: readonly ConformanceCase[] = [
  {
    id: 'HAN-001',
    title: 'builds a handle of provider and name, frozen and plain',
    level: 'MUST',
    promise: 'handles',
    async run(t) {
      const name = t.newName();
      const handle = t.adapter.buildHandle(name);
      expectEqual('the handle', { ...handle }, { provider: t.adapter.provider, name });
      expectThat('the handle', Object.isFrozen(handle), 'a frozen object', handle);
    },
  },
  {
    id: 'HAN-002',
    title: 'serves a handle that went through JSON as the one that it was',
    level: 'MUST',
    promise: 'handles',
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'kept');
      const revived = JSON.parse(JSON.stringify(handle)) as SandboxHandle;
      expectEqual('the handle after JSON', revived, { ...handle });
      const { output } = await t.exec(revived, t.words.showFile('file'));
      expectBytes('a file read through it', output, 'kept');
    },
  },
  {
    id: 'HAN-003',
    title: 'refuses a handle of another provider in every operation',
    level: 'MUST',
    promise: 'handles',
    async run(t) {
      const foreign = { ...t.adapter.buildHandle(t.newName()), provider: `not_${t.adapter.provider}` };
      const ofAHandle = EVERY_OPERATION.filter(
        ({ operation }) => !['create', 'createNew', 'listAllNames'].includes(operation),
      );
      for (const { operation, call } of supported(ofAHandle, t)) {
        await expectRejection(operation, call(t.adapter, foreign), INVALID);
      }
    },
  },
  {
    id: 'HAN-004',
    title: 'shows in a handle nothing but provider, name and incarnation',
    level: 'MUST',
    promise: 'handles',
    async run(t) {
      const handle = await t.sandbox();
      const shown = new Set([...Reflect.ownKeys(handle), ...Object.keys(JSON.parse(JSON.stringify(handle)) as object)]);
      const more = [...shown].filter((key) => !['provider', 'name', 'instanceId'].includes(String(key)));
      expectEqual('further properties of a handle', more, []);
      const deep = inspect(handle, { showHidden: true, depth: 5 });
      expectThat('inspect of a handle', deep.length < 400, 'a small value', deep);
    },
  },
  {
    id: 'HAN-005',
    title: 'refuses a name that is empty, no text or not to be carried, before it does anything',
    level: 'MUST',
    promise: 'handles',
    async run(t) {
      for (const name of ['', 7, undefined, null, {}, 'a\0b', '\ud800']) {
        await expectRejection(`create(${JSON.stringify(name)})`, t.adapter.create(name as string), INVALID);
        const handle = { provider: t.adapter.provider, name } as SandboxHandle;
        await expectRejection(`get of ${JSON.stringify(name)}`, t.adapter.get(handle), INVALID);
      }
    },
  },
  {
    id: 'HAN-006',
    title: 'reaches a sandbox that another client made',
    level: 'MUST',
    promise: 'handles',
    needs: ['insight:anotherClient'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'from the first');
      const other = await t.anotherClient();
      const { cmd, args } = t.words.showFile('file');
      const { output } = await other.exec(other.buildHandle(handle.name), cmd, args);
      expectBytes('the file as the other client sees it', output, 'from the first');
    },
  },
  {
    id: 'HAN-007',
    title: 'does not act on another incarnation than the one that the handle names',
    level: 'MUST',
    promise: 'handles',
    needs: ['create_new'],
    async run(t) {
      const name = t.newName();
      const first = await t.adapter.createNew(name);
      await t.adapter.destroy(first);
      const second = await t.adapter.createNew(name);
      await t.adapter.writeFile(second, 'file', 'of the second');
      await expectRejection('get of the first', t.adapter.get(first), { code: 'not_found', effect: 'none' });
      await t.adapter.destroy(first);
      await expectFile(t, second, 'file', 'of the second');
    },
  },
  {
    id: 'HAN-008',
    title: 'builds a handle without any I/O',
    level: 'MUST',
    promise: 'handles',
    needs: ['insight:requestCount'],
    async run(t) {
      const before = t.requestCount();
      t.adapter.buildHandle(t.subject.newName());
      await new Promise((resolve) => setImmediate(resolve));
      expectEqual('requests that went out', t.requestCount() - before, 0);
    },
  },
  {
    id: 'ERR-001',
    title: 'says in every rejection which provider and which operation it was',
    level: 'MUST',
    promise: 'errors',
    async run(t) {
      const missing = t.adapter.buildHandle(t.newName());
      for (const { operation, call } of supported(ON_A_SANDBOX, t)) {
        const error = await expectRejection(operation, call(t.adapter, missing), { code: 'not_found' });
        expectEqual(`provider of the error of ${operation}`, error.provider, t.adapter.provider);
        expectEqual(`operation of the error of ${operation}`, error.operation, operation);
      }
    },
  },
  {
    id: 'ERR-002',
    title: 'rejects bad arguments and never throws them, with effect none',
    level: 'MUST',
    promise: 'errors',
    async run(t) {
      const bad = undefined as never;
      const handle = await t.sandbox();
      const adapter = t.subject.adapter;
      const calls: Record<string, () => Promise<unknown>> = {
        create: () => adapter.create(bad),
        get: () => adapter.get(bad),
        destroy: () => adapter.destroy('' as never),
        exec: () => adapter.exec(handle, bad),
        'exec with args of another kind': () => adapter.exec(handle, 'true', 'one two' as never),
        'exec with an option of another kind': () => adapter.exec(handle, 'true', [], { timeoutMs: '5' as never }),
        spawn: () => adapter.spawn(handle, ''),
        'spawn with options of another kind': () => adapter.spawn(handle, 'true', [], 7 as never),
        writeFile: () => adapter.writeFile(handle, 'file', bad),
        'writeFile without a path': () => adapter.writeFile(handle, '', 'content'),
        'a signal that is none': () => adapter.get(handle, { signal: {} as never }),
      };
      for (const [what, call] of Object.entries(calls)) {
        let promise: Promise<unknown>;
        try {
          promise = call();
        } catch (error) {
          expectThat(what, false, 'a rejection', error);
        }
        await expectRejection(what, promise, INVALID);
      }
    },
  },
  {
    id: 'ERR-003',
    title: 'does nothing in any operation whose signal had fired before',
    level: 'MUST',
    promise: 'errors',
    async run(t) {
      const handle = await t.sandbox();
      const absent = t.adapter.buildHandle(t.newName());
      const reason = new Error('before the call');
      const signal = AbortSignal.abort(reason);
      for (const { operation, call } of supported(EVERY_OPERATION, t)) {
        const target = operation.startsWith('create') && !operation.endsWith('Checkpoint') ? absent : handle;
        const what = `${operation} with a signal that had fired`;
        const aborted = { code: 'aborted', effect: 'none', cause: reason } as const;
        await expectRejection(what, call(t.adapter, target, { signal }), aborted);
      }
      expectEqual('the sandbox after all of them', (await t.adapter.get(handle)).status === 'unknown', false);
      await expectRejection('get of what was not created', t.adapter.get(absent), { code: 'not_found' });
      const exists = await t.exec(handle, t.words.exists('file'));
      expectEqual('exit code of looking for a file that was not written', exists.exitCode, 1);
    },
  },
];
