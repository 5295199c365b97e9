import type { SandboxHandle } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { exists, expectNothingAt, homeOf } from '../errands.js';
import { expectBytes, expectEqual, expectError, expectRejection, expectThat } from '../expect.js';
import { expectExit } from '../session.js';
import type { Words } from '../vocabulary.js';

const ARGUMENTS: readonly string[] = [
  '',
  ' ',
  ' two  spaces ',
  'tab\there',
  'line\nfeed',
  'trailing line feed\n',
  'carriage\rreturn',
  '"double"',
  "'single'",
  "it's",
  '`id`',
  '$HOME',
  '${HOME}',
  '$(id)',
  '*',
  '?',
  '[a-z]',
  '{a,b}',
  '~',
  '~root',
  '~/file',
  '/home/sprite/file',
  's#/home/sprite#x#',
  '\\',
  '\\n',
  'C:\\dir\\',
  '-',
  '--',
  '-n',
  '--help',
  ';',
  '&&',
  '|',
  '> file',
  '< file',
  '#comment',
  '!!',
  '%s%d',
  'A=B',
  'é€😀',
  'e\u0301',
  '\u0001\u001b[0m\u007f',
  '',
];

const VARIABLES: Readonly<Record<string, string>> = {
  EMPTY: '',
  SPACES: ' two  spaces ',
  LINES: 'one\ntwo\n',
  EQUALS: '=a=b=',
  QUOTES: `"'\``,
  DOLLAR: '$HOME $(id) ${X}',
  BACKSLASH: '\\n\\',
  UNICODE: 'é€😀',
  CONTROL: '\u0001\u001b\t\r',
  lower_case1: 'x',
  _UNDERSCORE: '*',
  HOME_OF_ANOTHER: '/home/sprite/file:~/file',
};

export const processCases: readonly ConformanceCase[] = [
  {
    id: 'PRO-001',
    title: 'hands every argument to the program as it is, and no shell reads it',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const { exitCode, output } = await t.exec(await t.sandbox(), t.words.echoArguments(...ARGUMENTS));
      expectEqual('exit code', exitCode, 0);
      expectEqual('arguments', split(output), ARGUMENTS);
    },
  },
  {
    id: 'PRO-002',
    title: 'adds no argument to those that were given',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const handle = await t.sandbox();
      expectBytes('no arguments', (await t.exec(handle, t.words.echoArguments())).output, '');
      expectBytes('one that is empty', (await t.exec(handle, t.words.echoArguments(''))).output, '\0');
    },
  },
  {
    id: 'PRO-003',
    title: 'carries an argument of 100 kB, and a thousand of them',
    level: 'SHOULD',
    promise: 'processes',
    async run(t) {
      const handle = await t.sandbox();
      const long = `${'x'.repeat(100_000)}.`;
      expectBytes('a long one', (await t.exec(handle, t.words.echoArguments(long))).output, `${long}\0`);
      const many = Array.from({ length: 1000 }, (_, i) => `argument ${i}`);
      expectEqual('a thousand', split((await t.exec(handle, t.words.echoArguments(...many))).output), many);
    },
  },
  {
    id: 'PRO-004',
    title: 'hands over 3 MB of arguments, or refuses them and runs nothing',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const handle = await t.sandbox();
      const many = Array.from({ length: 3000 }, (_, i) => `${i}`.padEnd(1000, '.'));
      const call = t.exec(handle, t.words.echoArguments(...many));
      const result = await call.catch((error: unknown) => {
        const detail = ['argument_list_too_long', 'request_too_large'] as const;
        expectError('a refusal', error, { code: 'invalid', detail, effect: 'none' });
      });
      if (result === undefined) return;
      expectEqual('exit code', result.exitCode, 0);
      expectBytes('arguments', result.output, many.map((one) => `${one}\0`).join(''));
    },
  },
  {
    id: 'PRO-005',
    title: 'sets every variable as it was given: empty, with line feeds, = and Unicode',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const words = t.words.echoVariables(...Object.keys(VARIABLES));
      const { output } = await t.exec(await t.sandbox(), words, { env: VARIABLES });
      expectEqual('variables', split(output), pairs(VARIABLES));
    },
  },
  {
    id: 'PRO-006',
    title: 'sets a variable that is named __proto__',
    level: 'SHOULD',
    promise: 'processes',
    async run(t) {
      const env = JSON.parse('{ "__proto__": "x", "constructor": "y" }') as Record<string, string>;
      const { output } = await t.exec(await t.sandbox(), t.words.echoVariables('__proto__', 'constructor'), { env });
      expectEqual('variables', split(output), ['__proto__=x', 'constructor=y']);
    },
  },
  {
    id: 'PRO-007',
    title: "sets variables on top of the sandbox's own, which stay",
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const handle = await t.sandbox();
      const words = t.words.echoVariables('HOME', 'PATH', 'EXTRA');
      const own = split((await t.exec(handle, words)).output);
      expectThat(
        'HOME and PATH without env',
        own.length === 2 && own.every((one) => !one.endsWith('=')),
        'both set',
        own,
      );
      const withExtra = split((await t.exec(handle, words, { env: { EXTRA: '1' } })).output);
      expectEqual('with a variable more', withExtra, [...own, 'EXTRA=1']);
      const replaced = split((await t.exec(handle, t.words.echoVariables('HOME'), { env: { HOME: '/else' } })).output);
      expectEqual('a variable of its own that was given', replaced, ['HOME=/else']);
    },
  },
  {
    id: 'PRO-008',
    title: 'keeps the variables of one command from the next',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const handle = await t.sandbox();
      const words = t.words.echoVariables('ONCE');
      expectEqual('given', split((await t.exec(handle, words, { env: { ONCE: '1' } })).output), ['ONCE=1']);
      expectBytes('not given', (await t.exec(handle, words)).output, '');
    },
  },
  {
    id: 'PRO-009',
    title: 'runs a command in the directory that was given, whatever its name',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const handle = await t.sandbox();
      for (const name of ['plain', 'with  spaces', "it's $HOME", 'é€😀', '-dash']) {
        await t.exec(handle, t.words.makeDirectory(name));
        const dir = `${await homeOf(t, handle)}/${name}`;
        const { exitCode, output } = await t.exec(handle, t.words.echoDirectory(), { dir });
        expectEqual(`exit code in ${name}`, exitCode, 0);
        expectBytes(`directory ${name}`, output, `${dir}\n`);
      }
    },
  },
  {
    id: 'PRO-010',
    title: 'runs commands in one and the same directory where none was given, and keeps what they leave there',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const handle = await t.sandbox();
      await t.exec(handle, t.words.touch('left'));
      const dir = await homeOf(t, handle);
      expectThat('the directory', dir.startsWith('/'), 'an absolute path', dir);
      expectEqual('the directory of the next', await homeOf(t, handle), dir);
      expectEqual('whether the file is seen', await exists(t, handle, 'left'), true);
      expectEqual('whether it is seen by its path', await exists(t, handle, `${dir}/left`), true);
    },
  },
  {
    id: 'PRO-011',
    title: 'refuses a working directory that is missing, and runs nothing',
    level: 'MUST',
    promise: 'processes',
    run: (t) => expectNoDirectory(t, () => Promise.resolve('nowhere')),
  },
  {
    id: 'PRO-012',
    title: 'refuses a working directory that is a file, and runs nothing',
    level: 'MUST',
    promise: 'processes',
    run: (t) =>
      expectNoDirectory(t, async (handle) => {
        await t.exec(handle, t.words.touch('document'));
        return 'document';
      }),
  },
  {
    id: 'PRO-013',
    title: 'gives a spawned command the same arguments, variables and directory as exec does',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const handle = await t.sandbox();
      const withArguments = await t.run(handle, t.words.echoArguments(...ARGUMENTS));
      const words = t.words.echoVariables(...Object.keys(VARIABLES));
      const withVariables = await t.run(handle, words, { env: VARIABLES });
      await t.exec(handle, t.words.makeDirectory('with  spaces'));
      const dir = `${await homeOf(t, handle)}/with  spaces`;
      const inDirectory = await t.run(handle, t.words.echoDirectory(), { dir });
      for (const reading of [withArguments, withVariables, inDirectory]) {
        expectEqual('exit code', (await reading.exit()).exitCode, 0);
      }
      expectEqual('arguments', split(withArguments.stdout), ARGUMENTS);
      expectEqual('variables', split(withVariables.stdout), pairs(VARIABLES));
      expectBytes('directory', inDirectory.stdout, `${dir}\n`);
    },
  },
  {
    id: 'PRO-021',
    title: 'begins at home also after a command that ran elsewhere',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const handle = await t.sandbox();
      const home = await homeOf(t, handle);
      await t.exec(handle, t.words.makeDirectory('elsewhere'));
      const dir = `${home}/elsewhere`;
      expectBytes('where the one ran', (await t.exec(handle, t.words.echoDirectory(), { dir })).output, `${dir}\n`);
      expectEqual('where the next ran', await homeOf(t, handle), home);
      const spawned = await t.run(handle, t.words.echoDirectory());
      await expectExit(spawned, 0, `${home}\n`);
    },
  },
  {
    id: 'PRO-022',
    title: 'sets also a variable whose name no shell can say',
    level: 'SHOULD',
    promise: 'processes',
    needs: ['word:showVariable'],
    async run(t) {
      const handle = await t.sandbox();
      const env = { 'with-dash': 'one', 'with.dot': 'two', '1st': 'three' };
      for (const [name, value] of Object.entries(env)) {
        const words = t.words.showVariable?.(name) as Words;
        const { exitCode, output } = await t.exec(handle, words, { env });
        expectEqual(`exit code of ${name}`, exitCode, 0);
        expectBytes(name, output, `${value}\n`);
      }
    },
  },
  {
    id: 'PRO-024',
    title: 'sets a hundred variables, and one of 30 kB',
    level: 'SHOULD',
    promise: 'processes',
    async run(t) {
      const many = Array.from({ length: 100 }, (_, i) => [`MANY_${i}`, `value ${i}`] as const);
      const env = { ...Object.fromEntries(many), LONG: `${'x'.repeat(30_000)}.` };
      const { output } = await t.exec(await t.sandbox(), t.words.echoVariables(...Object.keys(env)), { env });
      expectEqual('variables', split(output), pairs(env));
    },
  },
];

async function expectNoDirectory(t: CaseContext, make: (handle: SandboxHandle) => Promise<string>): Promise<void> {
  const handle = await t.sandbox();
  const base = await homeOf(t, handle);
  const dir = `${base}/${await make(handle)}`;
  const { cmd, args } = t.words.touch(`${base}/mark`);
  for (const operation of ['exec', 'spawn'] as const) {
    const call = t.adapter[operation](handle, cmd, args, { dir });
    await expectRejection(operation, call, { code: 'invalid', detail: 'no_such_directory', effect: 'none' });
  }
  await expectNothingAt(t, handle, 'mark');
}

/** The texts that each end with a NUL byte. */
function split(output: Uint8Array): string[] {
  return Buffer.from(output).toString('utf8').split('\0').slice(0, -1);
}

function pairs(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables).map(([name, value]) => `${name}=${value}`);
}
