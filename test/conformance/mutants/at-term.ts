import {
  SandboxError,
  execResult,
  type ExecRequest,
  type ExecResult,
  type SandboxHandle,
  type TerminateRequest,
} from '#libs/contract';
import { TargetFake, type FakeKind } from '../targets/fake.js';
import { fake } from './making.js';
import type { Mutant } from './mutant.js';

type Sandbox = ReturnType<TargetFake['sandbox']>;
type Session = ReturnType<Sandbox['session']>;

export const atTermMutants: readonly Mutant[] = [
  {
    name: 'kills at the deadline',
    defect: 'A command that has run into its deadline is killed without being asked.',
    caughtBy: ['LIM-021'],
    make: () =>
      fake(
        withDeadline(
          (session) => session.stop(0),
          () => false,
        ),
      ),
  },
  {
    name: 'late results',
    defect: 'A command that ends by itself when it is asked to at its deadline has a result.',
    caughtBy: ['LIM-021'],
    make: () =>
      fake(
        withDeadline(
          (session) => session.stop(2_000),
          ({ signal }) => signal === undefined,
        ),
      ),
  },
  {
    name: 'waits for the end and kills',
    defect: 'A termination waits for a while, and then kills what it has asked nothing.',
    caughtBy: ['TER-019'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doTerminateSession(handle: SandboxHandle, request: TerminateRequest): Promise<void> {
            await new Promise((resolve) => setTimeout(resolve, 50));
            await super.doTerminateSession(handle, { ...request, mode: 'force' });
          }
        },
      ),
  },
  {
    name: 'an end by itself is a death',
    defect: 'What ends by itself at TERM is told as killed.',
    caughtBy: ['TER-019'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doTerminateSession(handle: SandboxHandle, request: TerminateRequest): Promise<void> {
            const session = this.sandbox(handle).findSession(request.sessionId);
            if (session !== undefined) {
              const { output } = session;
              const close = output.close.bind(output);
              output.close = () => close({ exit: { type: 'exit', exitCode: 143 } });
            }
            return super.doTerminateSession(handle, request);
          }
        },
      ),
  },
];

/** An exec whose deadline does that, and whose end by then may be a result. */
function withDeadline(strike: (session: Session) => unknown, isResult: (result: ExecResult) => boolean): FakeKind {
  return class extends TargetFake {
    protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
      const { cmd, args, env, dir, timeoutMs } = request;
      if (timeoutMs === undefined) return super.doExec(handle, request);
      const spawned = { cmd, args, env, stdin: false, detachable: false };
      const command = await super.doSpawn(handle, dir === undefined ? spawned : { ...spawned, dir });
      const session = this.sandbox(handle).session(command.sessionId as string);
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        strike(session);
      }, timeoutMs);
      const result = execResult({ ...(await command.drain()), output: Buffer.of() });
      clearTimeout(timer);
      if (!isLate || isResult(result)) return result;
      throw new SandboxError('unavailable', { detail: 'timeout', effect: 'done' });
    }
  };
}
