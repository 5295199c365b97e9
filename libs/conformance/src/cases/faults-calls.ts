import type { SandboxHandle } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { expectFile, expectNothingAt, expectUsable, untilExists } from '../errands.js';
import { expectEqual, expectError, expectRejection, expectThat } from '../expect.js';
import { attachAndRead, expectExit, leave, say, startSaying, startSession } from '../session.js';

/** What a passing failure is that came before anything was done. */
const REFUSED = { code: ['unavailable', 'rate_limited'], effect: ['none', 'unknown'] } as const;
/** What is said of a call that was carried out and whose answer was lost. */
const LOST = { code: 'unavailable', effect: ['unknown', 'done'] } as const;
/** The same of a call that only reads. */
const UNREAD = { code: ['unavailable', 'rate_limited'], effect: 'none' } as const;

/** Longer than any adapter waits by itself. */
const RETRY_AFTER_MS = 1_800_000;

/** Whether the provider has a sandbox of that name. @throws when it cannot tell */
async function isThere(t: CaseContext, handle: SandboxHandle): Promise<boolean> {
  try {
    await t.adapter.get(handle);
    return true;
  } catch (error) {
    expectError('get', error, { code: 'not_found' });
    return false;
  }
}

/** A call that may be made again without harm: an adapter may do so by itself, and then it has to have happened. */
async function succeeded(
  what: string,
  call: Promise<unknown>,
  failure: typeof REFUSED | typeof LOST,
): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    expectError(what, error, failure);
    return false;
  }
}

export const callFaultCases: readonly ConformanceCase[] = [
  {
    id: 'FLT-020',
    title: 'has made no sandbox when a create was refused, unless it says that it has',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:failBefore'],
    async run(t) {
      const name = t.newName();
      const heal = await t.inject('failBefore', 'create');
      const made = await succeeded('create', t.adapter.create(name), REFUSED);
      await heal();
      expectEqual('there', await isThere(t, t.adapter.buildHandle(name)), made);
      await t.adapter.create(name);
      expectEqual('there after another create', await isThere(t, t.adapter.buildHandle(name)), true);
    },
  },
  {
    id: 'FLT-021',
    title: 'does not say that nothing happened when the answer to a create is lost, and adopts what was made',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:failAfter'],
    async run(t) {
      const name = t.newName();
      const heal = await t.inject('failAfter', 'create');
      await succeeded('create', t.adapter.create(name), LOST);
      await heal();
      const handle = t.adapter.buildHandle(name);
      expectEqual('there', await isThere(t, handle), true);
      await t.adapter.writeFile(handle, 'file', 'kept');
      const again = await t.adapter.create(name);
      await expectFile(t, again, 'file', 'kept');
    },
  },
  {
    id: 'FLT-022',
    title: 'makes one attempt in createNew, and has made nothing when that was refused',
    level: 'MUST',
    promise: 'create',
    needs: ['create_new', 'fault:failBefore'],
    async run(t) {
      const name = t.newName();
      const heal = await t.inject('failBefore', 'createNew');
      await expectRejection('createNew', t.adapter.createNew(name), REFUSED);
      await heal();
      expectEqual('there', await isThere(t, t.adapter.buildHandle(name)), false);
      await t.adapter.createNew(name);
    },
  },
  {
    id: 'FLT-023',
    title: 'says of a createNew whose answer is lost that it is not known, and does not adopt what was made',
    level: 'MUST',
    promise: 'create',
    needs: ['create_new', 'fault:failAfter'],
    async run(t) {
      const name = t.newName();
      const heal = await t.inject('failAfter', 'createNew');
      await expectRejection('createNew', t.adapter.createNew(name), { code: 'unavailable', effect: 'unknown' });
      await heal();
      expectEqual('there', await isThere(t, t.adapter.buildHandle(name)), true);
      await expectRejection('another createNew', t.adapter.createNew(name), { code: 'already_exists', effect: 'none' });
    },
  },
  {
    id: 'FLT-024',
    title: 'does not take a sandbox for missing of which it could not be told',
    level: 'MUST',
    promise: 'not-found',
    needs: ['fault:failBefore'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('failBefore', 'get');
      await t.adapter.get(handle).catch((error: unknown) => expectError('get', error, UNREAD));
      await heal();
      await t.adapter.get(handle);
    },
  },
  {
    id: 'FLT-025',
    title: 'does not say that a sandbox is gone when its destroy was refused',
    level: 'MUST',
    promise: 'destroy',
    needs: ['fault:failBefore'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('failBefore', 'destroy');
      const gone = await succeeded('destroy', t.adapter.destroy(handle), REFUSED);
      await heal();
      expectEqual('there', await isThere(t, handle), !gone);
      await t.adapter.destroy(handle);
      expectEqual('there after another destroy', await isThere(t, handle), false);
    },
  },
  {
    id: 'FLT-026',
    title: 'does not say that nothing happened when the answer to a destroy is lost',
    level: 'MUST',
    promise: 'destroy',
    needs: ['fault:failAfter'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('failAfter', 'destroy');
      await succeeded('destroy', t.adapter.destroy(handle), LOST);
      await heal();
      expectEqual('there', await isThere(t, handle), false);
      await t.adapter.destroy(handle);
    },
  },
  {
    id: 'FLT-027',
    title: 'has run nothing when an exec was refused, and does not run it again by itself',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:failBefore'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('failBefore', 'exec');
      await expectRejection('exec', t.exec(handle, t.words.makeDirectory('ran')), REFUSED);
      await heal();
      await expectNothingAt(t, handle, 'ran');
      expectEqual('exit code of the next', (await t.exec(handle, t.words.makeDirectory('ran'))).exitCode, 0);
    },
  },
  {
    id: 'FLT-028',
    title: 'says of an exec whose answer is lost that it may have run, and does not run it again by itself',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:failAfter'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('failAfter', 'exec');
      const ended = await t.exec(handle, t.words.makeDirectory('ran')).then(
        (result) => result?.exitCode,
        (error: unknown) => expectError('exec', error, LOST).code,
      );
      await heal();
      // The measured exit may still have been found; a second run ends with another.
      expectThat('the end of the exec', ended === LOST.code || ended === 0, 'a failure, or the exit of one run', ended);
      // It may still be on its way when the loss is known.
      await untilExists(t, handle, 'ran');
    },
  },
  {
    id: 'FLT-029',
    title: 'has started nothing when a spawn was refused, and does not start it again by itself',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:failBefore'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('failBefore', 'spawn');
      await expectRejection('spawn', t.spawn(handle, t.words.touch('ran')), REFUSED);
      await heal();
      const reading = await t.run(handle, t.words.exists('ran'));
      await expectExit(reading, 1);
    },
  },
  {
    id: 'FLT-030',
    title: 'says of a spawn whose answer is lost that it may run, and does not start it again by itself',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:failAfter'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('failAfter', 'spawn');
      await expectRejection('spawn', t.spawn(handle, t.words.touch('ran'), { detachable: true }), LOST);
      await heal();
      await untilExists(t, handle, 'ran');
    },
  },
  {
    id: 'FLT-031',
    title: 'has written nothing when a writeFile was refused, unless it says that it has',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:failBefore'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'old');
      const heal = await t.inject('failBefore', 'writeFile');
      const written = await succeeded('writeFile', t.adapter.writeFile(handle, 'file', 'new'), REFUSED);
      await heal();
      await expectFile(t, handle, 'file', written ? 'new' : 'old');
    },
  },
  {
    id: 'FLT-032',
    title: 'does not say that nothing happened when the answer to a writeFile is lost',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:failAfter'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'old');
      const heal = await t.inject('failAfter', 'writeFile');
      await succeeded('writeFile', t.adapter.writeFile(handle, 'file', 'new'), LOST);
      await heal();
      await expectFile(t, handle, 'file', 'new');
    },
  },
  {
    id: 'FLT-033',
    title: 'lists all names or none: a listing that fails is an error',
    level: 'MUST',
    promise: 'listing',
    needs: ['fault:failBefore'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('failBefore', 'listAllNames');
      const names = await t.adapter.listAllNames().catch((error: unknown) => {
        expectError('listAllNames', error, UNREAD);
        return undefined;
      });
      if (names !== undefined) expectEqual('the name in the list', names.includes(handle.name), true);
      await heal();
      expectEqual('the name in the next list', (await t.adapter.listAllNames()).includes(handle.name), true);
    },
  },
  {
    id: 'FLT-034',
    title: 'gives no part of a listing of which a page cannot be had',
    level: 'MUST',
    promise: 'listing',
    needs: ['fault:failPage'],
    async run(t) {
      const handles = [await t.sandbox(), await t.sandbox(), await t.sandbox()];
      const missingIn = (names: readonly string[]): unknown[] => handles.filter(({ name }) => !names.includes(name));
      const heal = await t.inject('failPage');
      const names = await t.adapter.listAllNames().catch((error: unknown) => {
        const code = ['unavailable', 'rate_limited', 'truncated'] as const;
        expectError('listAllNames', error, { code, effect: 'none' });
      });
      // The page may have been asked for again.
      if (names !== undefined) expectEqual('names that are missing', missingIn(names), []);
      await heal();
      expectEqual('names that are missing in the next', missingIn(await t.adapter.listAllNames()), []);
    },
  },
  {
    id: 'FLT-035',
    title: 'does not take a sandbox for one without sessions when their list cannot be had',
    level: 'MUST',
    promise: 'faults',
    needs: ['attach', 'fault:failBefore'],
    async run(t) {
      const handle = await t.sandbox();
      const { id } = await startSession(t, handle, t.words.stay());
      const heal = await t.inject('failBefore', 'listSessions');
      const sessions = await t.adapter.listSessions(handle).catch((error: unknown) => {
        expectError('listSessions', error, UNREAD);
        return undefined;
      });
      for (const listed of [sessions, (await heal(), await t.adapter.listSessions(handle))]) {
        if (listed !== undefined)
          expectEqual(
            'ids',
            listed.map((one) => one.id),
            [id],
          );
      }
    },
  },
  {
    id: 'FLT-036',
    title: 'leaves a session as it was when an attach to it was refused',
    level: 'MUST',
    promise: 'faults',
    needs: ['attach', 'fault:failBefore'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startSaying(t, handle, 'before ');
      const heal = await t.inject('failBefore', 'attach');
      await t.attach(handle, id).catch((error: unknown) => expectError('attach', error, UNREAD));
      await heal();
      await say(command, 'and after');
      const joined = await attachAndRead(t, handle, id);
      await leave(command, 2);
      for (const one of [reading, joined]) {
        await expectExit(one, 2, 'before and after');
      }
    },
  },
  {
    id: 'FLT-037',
    title: 'does not say that nothing happened when the answer to a suspend is lost',
    level: 'MUST',
    promise: 'suspend-resume',
    needs: ['suspend', 'fault:failAfter'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('failAfter', 'suspend');
      await succeeded('suspend', t.adapter.suspend(handle), LOST);
      await heal();
      if (t.adapter.traits.parks === 'on_request')
        expectEqual('status', (await t.adapter.get(handle)).status, 'suspended');
      await t.adapter.resume(handle);
      await expectUsable(t, handle);
    },
  },
  {
    id: 'FLT-038',
    title: 'says of a call that came too often when to try again, and has done nothing',
    level: 'MUST',
    promise: 'errors',
    needs: ['fault:limitRate'],
    async run(t) {
      const handle = await t.sandbox();
      const missing = t.adapter.buildHandle(t.newName());
      const calls = { get: () => t.adapter.get(handle), create: () => t.adapter.create(missing.name) };
      for (const [operation, call] of Object.entries(calls) as [keyof typeof calls, () => Promise<unknown>][]) {
        const heal = await t.inject('limitRate', operation, RETRY_AFTER_MS);
        const error = await expectRejection(operation, call(), { code: 'rate_limited', effect: 'none' });
        expectEqual(`retryAfterMs of ${operation}`, error.retryAfterMs, RETRY_AFTER_MS);
        await heal();
      }
      expectEqual('there', await isThere(t, missing), false);
    },
  },
];
