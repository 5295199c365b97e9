import { expect, test } from '@jest/globals';
import { SandboxError } from '#libs/contract';
import { Deadline } from '../common/deadline.js';
import { commandExited } from '../common/journal-errors.js';
import type { E2bMachine } from './e2b.machine.js';
import type { E2bProcess } from './e2b.process.js';
import { runProgram } from './e2b.run-program.js';

const SPEC = { kind: 'c', nonce: 'n0', title: 'true' } as const;
/** One that does nothing, so that what is left is not looked for for long. */
const MACHINE = { hold: () => () => {} } as unknown as E2bMachine;

/** What it rejects with when the program is written, and the first word of it comes, with that outcome. */
async function failure(written: Promise<void>, word: () => Promise<readonly string[]>): Promise<unknown> {
  using deadline = new Deadline(10_000);
  const process = { pid: '7', write: () => written, close: () => {} } as unknown as E2bProcess;
  const running = runProgram(MACHINE, process, SPEC, 'program\n', word, deadline);
  const { code, detail, effect } = await running.then(
    () => new SandboxError('provider'),
    (error: SandboxError) => error,
  );
  return { code, detail, effect };
}

test('a shell that was gone before it had its program has run nothing', async () => {
  const word = () => Promise.resolve(['r', '7', '0']);
  expect(await failure(Promise.reject(commandExited()), word)).toEqual({
    code: 'unavailable',
    detail: 'closed_before_exit',
    effect: 'none',
  });
});

test('what has its program has perhaps run it, whatever its first word fails with', async () => {
  const word = () => Promise.reject(commandExited().with({ effect: 'unknown' }));
  expect(await failure(Promise.resolve(), word)).toEqual({
    code: 'command_exited',
    detail: undefined,
    effect: 'unknown',
  });
});
