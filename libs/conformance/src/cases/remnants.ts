import { getEventListeners } from 'node:events';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { expectEqual } from '../expect.js';
import { expectHidden } from '../hidden.js';
import { Mismatch } from '../mismatch.js';
import { startSession } from '../session.js';

import { EVERY_OPERATION, supported, supports } from './every-operation.js';

const SECRET = 'hidden-from-every-log';

async function failureOf(what: string, call: Promise<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await call;
  } catch (error) {
    return error;
  }
  throw new Mismatch(what, 'a rejection', `resolved with ${typeof value}`);
}

/** Timers that keep the process alive. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
}

async function* begun(): AsyncGenerator<string> {
  yield SECRET;
  await new Promise(() => {});
}

/** What a call leaves behind: in its errors, on its signal, in the process. */
export const remnantCases: readonly ConformanceCase[] = [
  {
    id: 'ERR-004',
    title: 'keeps variables, stdin, content and output out of errors, whatever is shown of them',
    level: 'MUST',
    promise: 'errors',
    async run(t) {
      const handle = await t.sandbox();
      const env = { SECRET };
      const nothing = t.words.print({});
      await t.exec(handle, t.words.makeDirectory('directory'));
      const ended = await t.spawn(handle, nothing, { stdin: true, env });
      await ended.drain();
      const words = t.words.print({ stdout: SECRET.repeat(20), stderr: SECRET });
      const calls: Readonly<Record<string, () => Promise<unknown>>> = {
        'a missing directory': () => t.exec(handle, nothing, { env, dir: '/no/such/directory' }),
        'a malformed variable': () => t.exec(handle, nothing, { env: { SECRET: `${SECRET}\0` } }),
        'too much output': () => t.exec(handle, words, { env, maxOutputBytes: SECRET.length * 4 }),
        'a deadline': () => t.exec(handle, t.words.copyStdin('stdout'), { env, stdin: begun(), timeoutMs: t.ms(300) }),
        'a file that is a directory': () => t.adapter.writeFile(handle, 'directory', SECRET),
        'a write after the exit': () => ended.writeStdin(SECRET),
      };
      for (const [what, call] of Object.entries(calls)) {
        expectHidden(`the error of ${what}`, await failureOf(what, call()), SECRET);
      }
    },
  },
  {
    id: 'STR-034',
    title: 'keeps variables, stdin and output out of what inspect shows of a command',
    level: 'SHOULD',
    promise: 'errors',
    async run(t) {
      const options = { stdin: true, env: { SECRET } };
      const command = await t.spawn(await t.sandbox(), t.words.copyStdin('stdout'), options);
      await command.writeStdin(SECRET);
      await t.eventually('its output', () => command.outputBytes === SECRET.length || undefined);
      expectHidden('a command', command, SECRET);
    },
  },
  {
    id: 'LIM-019',
    title: 'leaves no listener on the signal of a call that has ended, well or not',
    level: 'MUST',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const { signal } = new AbortController();
      const options = { signal };
      const calls: Readonly<Record<string, () => Promise<unknown>>> = {
        get: () => t.adapter.get(handle, options),
        'get of what is missing': () => t.adapter.get(t.adapter.buildHandle(t.subject.newName()), options),
        create: () => t.adapter.create(handle.name, options),
        listAllNames: () => t.adapter.listAllNames(options),
        writeFile: () => t.adapter.writeFile(handle, 'file', 'content', options),
        exec: () => t.exec(handle, t.words.print({ stdout: 'x' }), options),
        'exec with a deadline': () => t.exec(handle, t.words.print({}), { signal, timeoutMs: 60_000 }),
        'exec beyond its limit': () => t.exec(handle, t.words.lines(100), { signal, maxOutputBytes: 10 }),
        'exec with stdin': () => t.exec(handle, t.words.copyStdin('stdout'), { signal, stdin: 'x' }),
        spawn: () => t.spawn(handle, t.words.stay(), options),
        'a command': () => writeAndClose(t, handle, signal),
      };
      for (const [what, call] of Object.entries(calls)) {
        await call().catch(() => {});
        const left = (): number => getEventListeners(signal, 'abort').length;
        await t.eventually(`that no listener of ${what} is left`, () => left() === 0 || undefined);
      }
    },
  },
  {
    id: 'LIM-020',
    title: 'leaves no timer behind an exec that has ended before its deadline',
    level: 'SHOULD',
    promise: 'deadlines',
    async run(t) {
      const handle = await t.sandbox();
      const before = timers();
      const runs = 30;
      for (let n = 0; n < runs; n++) await t.exec(handle, t.words.print({}), { timeoutMs: 3_600_000 });
      // Others come and go meanwhile.
      await t.eventually('that their timers are gone', () => timers() - before < runs / 2 || undefined);
    },
  },
  {
    id: 'FLT-056',
    title: 'leaves no rejection unhandled when the transport of a command breaks that nobody reads',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:cutAfter'],
    async run(t) {
      const handle = await t.sandbox();
      const unhandled: unknown[] = [];
      const listen = (error: unknown): void => void unhandled.push(error);
      process.on('unhandledRejection', listen);
      t.defer(() => process.off('unhandledRejection', listen));
      const heal = await t.inject('cutAfter', 1);
      const command = await t.spawn(handle, t.words.print({ stdout: 'some', exitCode: 7 }));
      await command.exit.catch(() => {});
      await command.stop();
      await heal();
      await t.exec(handle, t.words.print({}));
      await new Promise((resolve) => setImmediate(resolve));
      expectEqual('unhandled rejections', unhandled, []);
    },
  },
  {
    id: 'LIM-024',
    title: 'leaves no listener on the signal of any operation',
    level: 'MUST',
    promise: 'deadlines',
    timeoutMs: 60_000,
    async run(t) {
      const handle = await t.sandbox();
      const { signal } = new AbortController();
      const left = (): number => getEventListeners(signal, 'abort').length;
      if (supports(t, 'attach')) {
        const { id } = await startSession(t, handle, t.words.stay());
        t.read(await t.attach(handle, id, { signal }));
        await t.eventually('that no listener of an attach is left', () => left() === 0 || undefined);
      }
      const isLast = ({ operation }: { operation: string }): boolean => operation === 'destroy';
      const calls = supported(EVERY_OPERATION, t);
      for (const { operation, call } of [...calls.filter((one) => !isLast(one)), ...calls.filter(isLast)]) {
        await call(t.adapter, handle, { signal }).catch(() => {});
        await t.eventually(`that no listener of ${operation} is left`, () => left() === 0 || undefined);
      }
    },
  },
];

async function writeAndClose(
  t: CaseContext,
  handle: Parameters<CaseContext['spawn']>[0],
  signal: AbortSignal,
): Promise<void> {
  const command = await t.spawn(handle, t.words.copyStdin('stdout'), { stdin: true, signal });
  await command.writeStdin('x', { signal });
  await command.closeStdin({ signal });
  await command.drain();
}
