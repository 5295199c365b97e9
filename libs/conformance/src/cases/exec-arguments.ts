import type { SandboxAdapter, SandboxHandle } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { expectNothingAt } from '../errands.js';
import { expectEqual, expectRejection } from '../expect.js';
import { Mismatch } from '../mismatch.js';

type Call = (adapter: SandboxAdapter, handle: SandboxHandle) => Promise<unknown>;

/** Calls as code without types would make them. */
function exec(cmd: unknown, args?: unknown, options?: unknown): Call {
  return (adapter, handle) => adapter.exec(handle, cmd as string, args as string[], options as object);
}

function spawn(cmd: unknown, args?: unknown, options?: unknown): Call {
  return (adapter, handle) => adapter.spawn(handle, cmd as string, args as string[], options as object);
}

const COMMANDS: Readonly<Record<string, readonly [cmd: unknown, args?: unknown, options?: unknown]>> = {
  'no command': [undefined],
  'an empty command': [''],
  'a command with a NUL byte': ['a\0b'],
  'a command that is a number': [7],
  'a command that is a list': [['true']],
  'a command with a lone surrogate': ['\uD800'],
  'arguments that are a string': ['true', 'x'],
  'null as arguments': ['true', null],
  'an argument that is a number': ['true', [1]],
  'an argument with a NUL byte': ['true', ['a\0b']],
  'an argument with a lone surrogate': ['true', ['\uDC00']],
  'a hole among the arguments': ['true', Array(1)],
  'options that are a string': ['true', [], 'x'],
  'an env that is a string': ['true', [], { env: 'A=B' }],
  'an env that is a list': ['true', [], { env: ['A=B'] }],
  'a variable that is a number': ['true', [], { env: { A: 1 } }],
  'a variable that is undefined': ['true', [], { env: { A: undefined } }],
  'a variable with a NUL byte': ['true', [], { env: { A: 'a\0b' } }],
  'a variable without a name': ['true', [], { env: { '': 'x' } }],
  'a variable with = in its name': ['true', [], { env: { 'A=B': 'x' } }],
  'a variable with a NUL byte in its name': ['true', [], { env: { 'A\0': 'x' } }],
  'a variable with a space in its name': ['true', [], { env: { 'A B': 'x' } }],
  'an empty directory': ['true', [], { dir: '' }],
  'a directory that is a number': ['true', [], { dir: 1 }],
  'a directory with a NUL byte': ['true', [], { dir: '/a\0b' }],
  'a signal that is none': ['true', [], { signal: 'now' }],
};

const EXEC_OPTIONS: Readonly<Record<string, object>> = {
  'a deadline of 0': { timeoutMs: 0 },
  'a negative deadline': { timeoutMs: -1 },
  'a deadline with a fraction': { timeoutMs: 1.5 },
  'a deadline that is no number': { timeoutMs: Number.NaN },
  'an endless deadline': { timeoutMs: Infinity },
  'a deadline that is text': { timeoutMs: '5' },
  'a deadline beyond 2^31': { timeoutMs: 2 ** 31 },
  'an output limit of 0': { maxOutputBytes: 0 },
  'a negative output limit': { maxOutputBytes: -1 },
  'an output limit that is text': { maxOutputBytes: '1' },
  'merging that is text': { stderrToStdout: 'yes' },
  'a stdin that is a number': { stdin: 1 },
  'a stdin that is true': { stdin: true },
  'a stdin with a lone surrogate': { stdin: '\uD800' },
};

const SPAWN_OPTIONS: Readonly<Record<string, object>> = {
  'a stdin that is text': { stdin: 'yes' },
  'a tty that is text': { tty: 'yes' },
  'a terminal without columns': { tty: { cols: 0, rows: 24 } },
  'a detachable that is a number': { detachable: 1 },
};

export const execArgumentCases: readonly ConformanceCase[] = [
  {
    id: 'EXE-018',
    title: 'refuses every malformed argument of exec before it sends anything, and never throws',
    level: 'MUST',
    promise: 'errors',
    run: (t) =>
      expectRefused(t, {
        ...map(COMMANDS, ([cmd, args, options]) => exec(cmd, args, options)),
        ...map(EXEC_OPTIONS, (options) => exec('true', [], options)),
      }),
  },
  {
    id: 'EXE-019',
    title: 'refuses every malformed argument of spawn before it sends anything, and never throws',
    level: 'MUST',
    promise: 'errors',
    run: (t) =>
      expectRefused(t, {
        ...map(COMMANDS, ([cmd, args, options]) => spawn(cmd, args, options)),
        ...map(SPAWN_OPTIONS, (options) => spawn('true', [], options)),
      }),
  },
  {
    id: 'EXE-020',
    title: 'refuses to run a command for a handle of another provider, or for none',
    level: 'MUST',
    promise: 'errors',
    async run(t) {
      const handle = await t.sandbox();
      const { cmd, args } = t.words.touch('mark');
      const foreign: Readonly<Record<string, unknown>> = {
        'a handle of another provider': { ...handle, provider: 'another_provider' },
        'a handle without a provider': { name: handle.name },
        'a name instead of a handle': handle.name,
        'no handle': undefined,
      };
      await expectRefused(
        t,
        map(foreign, (other) => (adapter: SandboxAdapter) => adapter.exec(other as SandboxHandle, cmd, args)),
        handle,
      );
      await expectNothingAt(t, handle, 'mark');
    },
  },
];

/** Not through the recorded adapter, which would make a rejection of a throw. */
async function expectRefused(
  t: CaseContext,
  calls: Readonly<Record<string, Call>>,
  given?: SandboxHandle,
): Promise<void> {
  const handle = given ?? (await t.sandbox());
  const { adapter, insight } = t.subject;
  const before = insight?.requestCount?.();
  for (const [what, call] of Object.entries(calls)) {
    let refused: Promise<unknown>;
    try {
      refused = call(adapter, handle);
    } catch (error) {
      throw new Mismatch(what, 'a rejection', `a throw: ${String(error)}`);
    }
    await expectRejection(what, refused, { code: 'invalid', detail: 'argument', effect: 'none' });
  }
  expectEqual('requests that went out', insight?.requestCount?.(), before);
}

function map<A, B>(record: Readonly<Record<string, A>>, make: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([what, value]) => [what, make(value)]));
}
