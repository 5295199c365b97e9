import {
  SandboxError,
  type CallOptions,
  type ExecRequest,
  type ExecResult,
  type SandboxHandle,
  type SandboxInfo,
  type TerminateRequest,
} from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake } from './making.js';
import type { Mutant } from './mutant.js';

export const suspendedMutants: readonly Mutant[] = [
  {
    name: 'wakes what it looks at',
    defect: 'A sandbox that was asked for wakes behind the answer.',
    caughtBy: ['SUS-009'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doGet(handle: SandboxHandle, options?: CallOptions): Promise<SandboxInfo> {
            const info = await super.doGet(handle, options);
            this.sandbox(handle).resume();
            return info;
          }
        },
      ),
  },
  {
    name: 'wakes what it lists',
    defect: 'A listing of names wakes every sandbox.',
    caughtBy: ['SUS-009'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doListAllNames(options?: CallOptions): Promise<string[]> {
            const names = await super.doListAllNames(options);
            for (const name of names) this.sandbox(this.buildHandle(name)).resume();
            return names;
          }
        },
      ),
  },
  {
    name: 'frozen is gone',
    defect: 'A termination of what stands still has succeeded.',
    caughtBy: ['SUS-010'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doTerminateSession(handle: SandboxHandle, request: TerminateRequest): Promise<void> {
            if (this.sandbox(handle).status !== 'suspended') await super.doTerminateSession(handle, request);
          }
        },
        { onSuspend: 'freeze' },
      ),
  },
  {
    name: 'modes end with a suspend',
    defect: 'After a suspend every file has the usual mode.',
    caughtBy: ['SUS-002'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doSuspend(handle: SandboxHandle, options: CallOptions): Promise<void> {
            await super.doSuspend(handle, options);
            const { files } = this.sandbox(handle);
            files.write('deep/file', files.read('deep/file'), 0o644);
          }
        },
      ),
  },
  {
    name: 'wakes for one',
    defect: 'A call that finds a sandbox waking is refused.',
    caughtBy: [],
    caughtByRefusal: ['SUS-011'],
    make: () =>
      fake(
        class extends TargetFake {
          #isWaking = false;
          protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            if (this.#isWaking) throw new SandboxError('provider', { message: 'the sandbox is waking' });
            this.#isWaking = this.sandbox(handle).status === 'suspended';
            await new Promise((resolve) => setImmediate(resolve));
            this.#isWaking = false;
            return super.doExec(handle, request);
          }
        },
      ),
  },
];
