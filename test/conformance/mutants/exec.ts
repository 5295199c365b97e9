import {
  SandboxError,
  collectExec,
  execResult,
  type ExecRequest,
  type ExecResult,
  type SandboxHandle,
} from '#libs/contract';
import { fakePrograms } from '../targets/fake-words.js';
import { TargetFake } from '../targets/fake.js';
import { fake, text, withBytes, withExecResults, withFrames } from './making.js';
import type { Mutant } from './mutant.js';

const SIGNALS: Readonly<Record<number, string>> = { 129: 'SIGHUP', 130: 'SIGINT', 137: 'SIGKILL', 143: 'SIGTERM' };

export const execMutants: readonly Mutant[] = [
  {
    name: 'output decoded',
    defect: 'Bytes become text and bytes again on their way.',
    caughtBy: ['EXE-001', 'EXE-003', 'EXE-010', 'STR-004', 'STR-019', 'ATT-002', 'TTY-008', 'PRO-015'],
    caughtByHanging: ['STR-003'],
    make: () => fake(withBytes((data) => Buffer.from(text(data)))),
  },
  {
    name: 'seven bits',
    defect: 'The highest bit of every byte is lost.',
    caughtBy: ['EXE-001', 'EXE-003', 'STR-004', 'STD-004'],
    make: () => fake(withBytes((data) => data.map((byte) => byte & 0x7f))),
  },
  {
    name: 'non-zero is an error',
    defect: 'An exec that ends with another code than 0 rejects.',
    caughtBy: [],
    caughtByRefusal: ['EXE-002', 'EXE-009', 'EXE-014'],
    make: () =>
      fake(
        withExecResults((result) => {
          if (result.exitCode !== 0) throw new SandboxError('provider', { message: `exit code ${result.exitCode}` });
          return result;
        }),
      ),
  },
  {
    name: 'stderr swallowed',
    defect: 'What is written to stderr goes nowhere.',
    caughtBy: ['EXE-003', 'STR-004', 'STR-008', 'STR-019', 'LIM-009', 'ATT-002', 'ATT-020', 'SES-009'],
    caughtByHanging: ['STR-001'],
    make: () => fake(withFrames((item, pass) => void (item.type !== 'stderr' && pass(item)))),
  },
  {
    name: 'merged stream by stream',
    defect: 'stderr is put behind stdout when both were to be one.',
    caughtBy: ['EXE-004'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const { output, stderr, ...exit } = await super.doExec(handle, { ...request, stderrToStdout: false });
            if (!request.stderrToStdout) return execResult({ ...exit, output, ...(stderr && { stderr }) });
            return execResult({ ...exit, output: Buffer.concat([output, stderr ?? Buffer.of()]) });
          }
        },
      ),
  },
  {
    name: 'a signal is a failure of its own',
    defect: 'Death by a signal is told as exit code 1.',
    caughtBy: ['EXE-005', 'STR-010', 'ATT-004', 'TTY-009'],
    make: () =>
      fake(
        withFrames((item, pass) =>
          pass(item.type === 'exit' && item.signal !== undefined ? { type: 'exit', exitCode: 1 } : item),
        ),
      ),
  },
  {
    name: 'signals guessed',
    defect: 'Every exit code above 128 is told as death by a signal.',
    caughtBy: ['EXE-006'],
    make: () =>
      fake(
        withFrames((item, pass) => {
          const signal = item.type === 'exit' ? SIGNALS[item.exitCode] : undefined;
          pass(signal === undefined ? item : ({ ...item, signal } as typeof item));
        }),
      ),
  },
  {
    name: 'no start is exit 1',
    defect: 'A program that does not start is one that ended with 1.',
    caughtBy: ['EXE-007', 'EXE-008', 'STR-010'],
    make: () =>
      fake(
        withFrames((item, pass) =>
          pass(item.type === 'exit' && item.startError !== undefined ? { type: 'exit', exitCode: 1 } : item),
        ),
      ),
  },
  {
    name: 'start errors unsaid',
    defect: 'Why a program did not start is not told.',
    caughtBy: ['EXE-007', 'EXE-008', 'STR-010'],
    make: () =>
      fake(
        withFrames((item, pass) => {
          if (item.type !== 'exit') return pass(item);
          const { startError: _, ...exit } = item;
          return pass(exit);
        }),
      ),
  },
  {
    name: 'start errors guessed',
    defect: 'Every 126 and 127 is told as a program that did not start.',
    caughtBy: ['EXE-009'],
    make: () =>
      fake(
        withFrames((item, pass) =>
          pass(
            item.type === 'exit' && [126, 127].includes(item.exitCode) ? { ...item, startError: 'not found' } : item,
          ),
        ),
      ),
  },
  {
    name: 'text is Latin-1',
    defect: 'The text of a result is decoded byte by byte.',
    caughtBy: ['EXE-010'],
    make: () =>
      fake(withExecResults((result) => ({ ...result, text: () => Buffer.from(result.output).toString('latin1') }))),
  },
  {
    name: 'no empty stderr',
    defect: 'stderr is left out when it is empty.',
    caughtBy: ['EXE-011'],
    make: () =>
      fake(
        withExecResults(({ output, stderr, ...exit }) =>
          execResult({ ...exit, output, ...(stderr?.byteLength && { stderr }) }),
        ),
      ),
  },
  {
    name: 'the first 32 KiB',
    defect: 'Of an output only the beginning is given, as if it were all.',
    caughtBy: ['EXE-012', 'LIM-008', 'LIM-011', 'PRO-003', 'PRO-015', 'FIL-009'],
    make: () =>
      fake(withExecResults(({ output, ...result }) => execResult({ ...result, output: output.subarray(0, 32_768) }))),
  },
  {
    name: 'waits for the children',
    defect: 'A command has ended once everything that it left behind has.',
    caughtBy: ['EXE-013', 'STR-009'],
    make: () => fake(TargetFake, { programs: { ...fakePrograms, background: fakePrograms['family'] as never } }),
  },
  {
    name: 'the newest of all',
    defect: 'Commands that run at once all get the result of the one that was started last.',
    caughtBy: ['EXE-014'],
    make: () =>
      fake(
        class extends TargetFake {
          #newest: Promise<ExecResult> | undefined;
          protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            this.#newest = super.doExec(handle, request);
            await this.#newest;
            return this.#newest;
          }
        },
      ),
  },
  {
    name: 'one after the other',
    defect: 'An exec begins when the one before has ended.',
    caughtBy: [],
    caughtByHanging: ['EXE-016', 'LIM-013', 'LIM-014', 'SUS-006'],
    make: () =>
      fake(
        class extends TargetFake {
          #before: Promise<unknown> = Promise.resolve();
          protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const result = this.#before.then(() => super.doExec(handle, request));
            this.#before = result.catch(() => {});
            return result;
          }
        },
      ),
  },
  {
    name: 'results show their output',
    defect: 'inspect of a result shows what the command wrote.',
    caughtBy: ['EXE-017'],
    make: () => fake(withExecResults((result) => ({ ...result }))),
  },
  {
    name: 'exec leaves a session',
    defect: 'An exec is a detachable session, listed while it runs.',
    caughtBy: ['SES-006'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const { cmd, args, env, stdin } = request;
            const session = { cmd, args, env, stdin: stdin !== undefined, detachable: true };
            const stop = () => Promise.resolve({ confirmed: false });
            return collectExec(this.doSpawn(handle, session), { ...request, stop });
          }
        },
      ),
  },
];
