import { inspect } from 'node:util';
import type { ConformanceCase } from '../conformance-case.js';
import { expectUsable, untilExists } from '../errands.js';
import { expectBytes, expectEqual, expectRejection, expectThat } from '../expect.js';
import { ALL_BYTES, BEGINS_LIKE_TEXT, expectPattern, noise } from '../samples.js';

const MiB = 1024 * 1024;

export const execCases: readonly ConformanceCase[] = [
  {
    id: 'EXE-001',
    title: 'gives what a command wrote byte for byte, whatever the bytes are',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const handle = await t.sandbox();
      for (const stdout of [Buffer.concat([ALL_BYTES, noise(1024)]), BEGINS_LIKE_TEXT]) {
        const { exitCode, output } = await t.exec(handle, t.words.print({ stdout }));
        expectThat('output', output instanceof Uint8Array, 'bytes', output);
        expectBytes('output', output, stdout);
        expectEqual('exit code', exitCode, 0);
      }
    },
  },
  {
    id: 'EXE-002',
    title: 'gives a non-zero exit as a result, with its output',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const handle = await t.sandbox();
      for (const code of [1, 2, 42, 127, 128, 255]) {
        const { exitCode, signal, output } = await t.exec(handle, t.words.print({ stdout: 'said', exitCode: code }));
        expectEqual(
          `exit of a command that ended with ${code}`,
          { exitCode, signal },
          { exitCode: code, signal: undefined },
        );
        expectBytes('its output', output, 'said');
      }
    },
  },
  {
    id: 'EXE-003',
    title: 'gives stderr apart from stdout where the provider tells them apart',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const result = await t.exec(await t.sandbox(), t.words.print({ stdout: 'one', stderr: ALL_BYTES }));
      if (!t.tells.stderrApart) return expectEqual('stderr that is not told apart', result.stderr, undefined);
      expectBytes('output', result.output, 'one');
      expectThat('stderr', result.stderr !== undefined, 'bytes', result.stderr);
      expectBytes('stderr', result.stderr, ALL_BYTES);
    },
  },
  {
    id: 'EXE-004',
    title: 'merges stderr into the output in the order in which it was written, when asked',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const last = 500;
      const { output, stderr } = await t.exec(await t.sandbox(), t.words.count(last, true), { stderrToStdout: true });
      expectBytes('output', output, numbers(last));
      expectEqual('bytes of stderr apart', stderr?.byteLength ?? 0, 0);
    },
  },
  {
    id: 'EXE-005',
    title: 'gives death by signal n as 128+n, with the signal where it is told',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const handle = await t.sandbox();
      const deaths = { SIGHUP: 129, SIGINT: 130, SIGKILL: 137, SIGSEGV: 139, SIGTERM: 143 } as const;
      for (const name of Object.keys(deaths) as (keyof typeof deaths)[]) {
        const { exitCode, signal } = await t.exec(handle, t.words.dieOf(name));
        expectEqual(`exit code after ${name}`, exitCode, deaths[name]);
        if (t.tells.signals || signal !== undefined) expectEqual(`signal after ${name}`, signal, name);
      }
    },
  },
  {
    id: 'EXE-006',
    title: 'does not take an exit code above 128 for a signal',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const { exitCode, signal } = await t.exec(await t.sandbox(), t.words.print({ exitCode: 143 }));
      expectEqual('exit', { exitCode, signal }, { exitCode: 143, signal: undefined });
    },
  },
  {
    id: 'EXE-007',
    title: 'gives 127 for a program that is not there, and why where it is told',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const { exitCode, startError, output } = await t.exec(await t.sandbox(), t.words.missing());
      expectEqual('exit code', exitCode, 127);
      expectBytes('output', output, '');
      if (t.tells.startErrors) expectStartError(startError);
    },
  },
  {
    id: 'EXE-008',
    title: 'gives 126 for a file that is not executable, and why where it is told',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const handle = await t.sandbox();
      await t.exec(handle, t.words.touch('document'));
      const { exitCode, startError, output } = await t.exec(handle, t.words.runFile('document'));
      expectEqual('exit code', exitCode, 126);
      expectBytes('output', output, '');
      if (t.tells.startErrors) expectStartError(startError);
    },
  },
  {
    id: 'EXE-009',
    title: 'reports no start error of a program that ran and ended with 126 or 127',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const handle = await t.sandbox();
      for (const code of [126, 127]) {
        const { exitCode, startError } = await t.exec(handle, t.words.print({ exitCode: code }));
        expectEqual('exit', { exitCode, startError }, { exitCode: code, startError: undefined });
      }
    },
  },
  {
    id: 'EXE-010',
    title: 'decodes the text of a result as UTF-8, malformed bytes as U+FFFD',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const stdout = Buffer.concat([Buffer.from('é€😀\r\n'), Buffer.from([0xff]), Buffer.from('.')]);
      const result = await t.exec(await t.sandbox(), t.words.print({ stdout }));
      expectEqual('text', result.text(), 'é€😀\r\n\uFFFD.');
      expectBytes('output', result.output, stdout);
    },
  },
  {
    id: 'EXE-011',
    title: 'gives an empty output of a command that wrote nothing',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const { exitCode, output, stderr } = await t.exec(await t.sandbox(), t.words.print({}));
      const seen = { exitCode, output: output.byteLength, stderr: stderr?.byteLength };
      expectEqual('result', seen, { exitCode: 0, output: 0, stderr: t.tells.stderrApart ? 0 : undefined });
    },
  },
  {
    id: 'EXE-012',
    title: 'gives an output of megabytes whole',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const bytes = t.volume(4 * MiB) + 1;
      const { exitCode, output } = await t.exec(await t.sandbox(), t.words.lines(bytes));
      expectEqual('exit code', exitCode, 0);
      expectEqual('bytes', output.byteLength, bytes);
      expectPattern(output, 0);
    },
  },
  {
    id: 'EXE-013',
    title: 'does not wait for a background child that holds the output open',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const handle = await t.sandbox();
      const errand = { trigger: 'go', mark: 'gone' };
      const running = t.exec(handle, t.words.background(errand));
      const { exitCode, output } = await t.within('the result', 10_000, running);
      expectEqual('exit code', exitCode, 0);
      expectBytes('the first line', output.subarray(0, 6), 'ready\n');
      await t.exec(handle, t.words.touch(errand.trigger));
    },
  },
  {
    id: 'EXE-014',
    title: 'keeps commands that run at the same time apart',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const handle = await t.sandbox();
      const all = Array.from({ length: 12 }, async (_, i) => {
        const stdout = Buffer.from(`command ${i}\n`.repeat(50));
        const { exitCode, output } = await t.exec(handle, t.words.print({ stdout, exitCode: i }));
        expectEqual(`exit code of command ${i}`, exitCode, i);
        expectBytes(`output of command ${i}`, output, stdout);
      });
      await Promise.all(all);
    },
  },
  {
    id: 'EXE-015',
    title: 'says not_found of a sandbox that is not there, naming itself and the call',
    level: 'MUST',
    promise: 'not-found',
    async run(t) {
      const handle = t.adapter.buildHandle(t.newName());
      const { cmd, args } = t.words.print({});
      for (const operation of ['exec', 'spawn'] as const) {
        const call = t.adapter[operation](handle, cmd, args);
        const error = await expectRejection(operation, call, { code: 'not_found', effect: 'none' });
        const named = { provider: error.provider, operation: error.operation };
        expectEqual('what the error names', named, { provider: t.adapter.provider, operation });
      }
    },
  },
  {
    id: 'EXE-016',
    title: 'starts commands while another runs, in the same sandbox',
    level: 'MUST',
    promise: 'exec',
    async run(t) {
      const handle = await t.sandbox();
      await t.exec(handle, t.words.touch('go'));
      const over = new AbortController();
      const staying = t.exec(handle, t.words.family({ trigger: 'go', mark: 'begun' }), { signal: over.signal });
      staying.catch(() => {});
      await untilExists(t, handle, 'begun');
      await expectUsable(t, handle);
      over.abort();
      await expectRejection('the one that stays', staying, { code: 'aborted' });
    },
  },
  {
    id: 'EXE-017',
    title: 'keeps what a command wrote out of what inspect shows of its result',
    level: 'SHOULD',
    promise: 'exec',
    async run(t) {
      const secret = 'hidden-in-output';
      const result = await t.exec(await t.sandbox(), t.words.print({ stdout: secret, stderr: secret }));
      expectBytes('output', result.output.subarray(0, secret.length), secret);
      const shown = inspect(result, { depth: 10 });
      const asBytes = inspect(Buffer.from(secret)).slice('<Buffer '.length, 40);
      expectThat('inspect', !shown.includes(secret) && !shown.includes(asBytes), 'no output', shown);
    },
  },
];

function expectStartError(startError: string | undefined): void {
  const isTold = typeof startError === 'string' && startError !== '';
  expectThat('startError', isTold, 'why it did not start', startError);
}

function numbers(last: number): string {
  return Array.from({ length: last }, (_, i) => `${i + 1}\n`).join('');
}
