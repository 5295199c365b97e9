import type { ConformanceCase } from '../conformance-case.js';
import { exists, expectUsable } from '../errands.js';
import { expectEqual, expectError, expectRejection } from '../expect.js';
import { expectExit, ready, say, start, startSaying } from '../session.js';

import { EVERY_OPERATION, supported } from './every-operation.js';

/** What an exec may take beyond its deadline until it has rejected, and a second for the way there and back. */
const STOP_MS = 5_000 + 1_000;

/** A call that acts, and the way to see whether it has. */
interface Act {
  readonly call: (signal: AbortSignal) => Promise<unknown>;
  readonly isDone: () => Promise<boolean>;
}

export const stallCases: readonly ConformanceCase[] = [
  {
    id: 'FLT-050',
    title: 'keeps the deadline of an exec when the other end answers nothing, and works again when that is over',
    level: 'MUST',
    promise: 'deadlines',
    needs: ['fault:stall'],
    async run(t) {
      const [handle, other] = [await t.sandbox(), await t.sandbox()];
      const heal = await t.inject('stall');
      const call = t.exec(handle, t.words.print({}), { timeoutMs: 300 });
      const rejection = expectRejection('exec', call, { code: 'unavailable', effect: ['none', 'unknown', 'done'] });
      await t.within('the rejection', 300 + STOP_MS, rejection);
      await heal();
      for (const one of [other, handle]) {
        await expectUsable(t, one);
      }
    },
  },
  {
    id: 'FLT-051',
    title: 'ends a call that only reads as soon as it is aborted, though the other end answers nothing',
    level: 'MUST',
    promise: 'deadlines',
    needs: ['fault:stall'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('stall');
      const calls = [
        { what: 'get', call: (signal: AbortSignal) => t.adapter.get(handle, { signal }) },
        { what: 'listAllNames', call: (signal: AbortSignal) => t.adapter.listAllNames({ signal }) },
      ];
      for (const { what, call } of calls) {
        const abort = new AbortController();
        const reason = new Error('no more');
        const called = expectRejection(what, call(abort.signal), { code: 'aborted', effect: 'none', cause: reason });
        // A turn later it is on its way.
        setImmediate(() => abort.abort(reason));
        await t.within(`the abort of ${what}`, 2_000, called);
      }
      await heal();
      await t.adapter.get(handle);
    },
  },
  {
    id: 'FLT-052',
    title: 'ends every call that acts as soon as it is aborted, claims no outcome, and is usable afterwards',
    level: 'MUST',
    promise: 'deadlines',
    needs: ['fault:stall'],
    async run(t) {
      const handle = await t.sandbox();
      const name = t.newName();
      const heal = await t.inject('stall');
      const { cmd, args } = t.words.print({ exitCode: 3 });
      const calls = [
        { what: 'create', call: (signal: AbortSignal) => t.adapter.create(name, { signal }) },
        { what: 'writeFile', call: (signal: AbortSignal) => t.adapter.writeFile(handle, 'file', 'new', { signal }) },
        { what: 'exec', call: (signal: AbortSignal) => t.adapter.exec(handle, cmd, args, { signal }) },
        { what: 'spawn', call: (signal: AbortSignal) => t.adapter.spawn(handle, cmd, args, { signal }) },
        { what: 'destroy', call: (signal: AbortSignal) => t.adapter.destroy(t.adapter.buildHandle(name), { signal }) },
      ];
      for (const { what, call } of calls) {
        const abort = new AbortController();
        const called = expectRejection(what, call(abort.signal), { code: 'aborted', effect: ['none', 'unknown'] });
        setImmediate(() => abort.abort());
        await t.within(`the abort of ${what}`, 2_000 + STOP_MS, called);
      }
      await heal();
      await expectUsable(t, handle);
    },
  },
  {
    id: 'FLT-053',
    title: 'lets go of a command as soon as it is told, though the other end answers nothing',
    level: 'MUST',
    promise: 'detach',
    needs: ['fault:stall'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading } = await ready(start(t, handle, t.words.stay()));
      const heal = await t.inject('stall');
      const stopped = command.stop();
      stopped.catch(() => {});
      const error = await t.within('the end of its output', 2_000, reading.error());
      expectError('the end of its output', error, { code: 'unavailable', detail: 'detached' });
      await expectRejection('a write', command.writeStdin('x'), { code: ['unavailable', 'invalid'], effect: 'none' });
      await heal();
      await t.within('stop', 10_000, stopped);
    },
  },
  {
    id: 'FLT-054',
    title: 'ends no output because nothing comes for a while, and goes on with all of it',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:stall', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading } = await startSaying(t, handle, 'before ');
      const heal = await t.inject('stall');
      const saying = say(command, 'and after');
      saying.catch(() => {});
      const closing = command.closeStdin();
      closing.catch(() => {});
      let ended = false;
      const end = (): void => {
        ended = true;
      };
      reading.ended.then(end, end);
      const abort = new AbortController();
      const pending = t.adapter.get(handle, { signal: abort.signal }).catch(() => {});
      setTimeout(() => abort.abort(), t.ms(300));
      await pending;
      expectEqual('ended meanwhile', ended, false);
      await heal();
      await expectExit(reading, 0, 'before and after');
    },
  },
  {
    id: 'FLT-055',
    title: 'has done nothing of an aborted call of which it says so, also when the other end answers again',
    level: 'MUST',
    promise: 'deadlines',
    needs: ['fault:stall'],
    async run(t) {
      const handle = await t.sandbox();
      const name = t.newName();
      const touch = (path: string) => t.words.touch(path);
      const heal = await t.inject('stall');
      const acts: Readonly<Record<string, Act>> = {
        create: {
          call: (signal) => t.adapter.create(name, { signal }),
          isDone: async () => (await t.adapter.listAllNames()).includes(name),
        },
        writeFile: {
          call: (signal) => t.adapter.writeFile(handle, 'written', 'content', { signal }),
          isDone: () => exists(t, handle, 'written'),
        },
        exec: {
          call: (signal) => t.exec(handle, touch('ran'), { signal }),
          isDone: () => exists(t, handle, 'ran'),
        },
        spawn: {
          call: (signal) => t.spawn(handle, touch('started'), { signal, detachable: true }),
          isDone: () => exists(t, handle, 'started'),
        },
      };
      const claims: string[] = [];
      for (const [what, { call }] of Object.entries(acts)) {
        const abort = new AbortController();
        const called = expectRejection(what, call(abort.signal), { code: 'aborted' });
        setImmediate(() => abort.abort());
        const { effect } = await t.within(`the abort of ${what}`, 2_000 + STOP_MS, called);
        if (effect === 'none') claims.push(what);
      }
      await heal();
      await t.exec(handle, t.words.pause(200));
      for (const what of claims) expectEqual(`whether ${what} has been done`, await acts[what]?.isDone(), false);
    },
  },
  {
    id: 'FLT-060',
    title: 'ends every other call as soon as it is aborted, though the other end answers nothing',
    level: 'MUST',
    promise: 'deadlines',
    needs: ['fault:stall'],
    timeoutMs: 60_000,
    async run(t) {
      const handle = await t.sandbox();
      const absent = t.adapter.buildHandle(t.newName());
      const heal = await t.inject('stall');
      for (const { operation, call } of supported(EVERY_OPERATION, t)) {
        const abort = new AbortController();
        const reason = new Error('no more');
        const target = ['create', 'createNew', 'destroy'].includes(operation) ? absent : handle;
        const ending = call(t.adapter, target, { signal: abort.signal }).then(
          () => undefined,
          (error: unknown) => error,
        );
        setImmediate(() => abort.abort(reason));
        const error = await t.within(`the abort of ${operation}`, 2_000 + STOP_MS, ending);
        // What needs no answer has succeeded.
        if (error === undefined) continue;
        expectError(operation, error, { code: 'aborted', effect: ['none', 'unknown'], cause: reason });
      }
      await heal();
      await t.adapter.resume(handle).catch((error: unknown) => expectError('resume', error, { code: 'not_supported' }));
      await expectUsable(t, handle);
    },
  },
];
