import { SandboxError, sandboxHandle, type CallOptions, type SandboxHandle, type SandboxInfo } from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake, never, withFrames } from './making.js';
import type { Mutant } from './mutant.js';

type Sandbox = ReturnType<TargetFake['sandbox']>;

export const lifecycleMutants: readonly Mutant[] = [
  {
    name: 'status not known',
    defect: 'get gives `unknown` for every sandbox.',
    caughtBy: ['LIF-001', 'RDF-003', 'SUS-001'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doGet(handle: SandboxHandle): Promise<SandboxInfo> {
            return { ...(await super.doGet(handle)), status: 'unknown' };
          }
        },
      ),
  },
  {
    name: 'create begins anew',
    defect: 'create makes a new sandbox in the place of the one that has the name.',
    caughtBy: ['LIF-002', 'NEW-005', 'FLT-021'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doCreate(name: string): Promise<SandboxHandle> {
            await super.doDestroy(this.buildHandle(name), {});
            return super.doCreate(name);
          }
        },
      ),
  },
  {
    name: 'one for each create',
    defect: 'Several creates of a name make several entries of it.',
    caughtBy: ['LIF-003'],
    make: () =>
      fake(
        class extends TargetFake {
          readonly #created: string[] = [];
          protected override doCreate(name: string): Promise<SandboxHandle> {
            this.#created.push(name);
            return super.doCreate(name);
          }
          protected override async doListAllNames(): Promise<string[]> {
            return this.#created;
          }
        },
      ),
  },
  {
    name: 'makes what it misses',
    defect: 'A call on a sandbox that is missing makes it.',
    caughtBy: ['LIF-004', 'LIF-005', 'LIF-006', 'ERR-001', 'EXE-015', 'SUS-008', 'CHK-005', 'SES-014'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override sandbox(handle: SandboxHandle): Sandbox {
            void super.doCreate(handle.name);
            return super.sandbox(handle);
          }
        },
      ),
  },
  {
    name: 'destroy only asked for',
    defect: 'destroy resolves, and the sandbox stays.',
    caughtBy: ['LIF-006', 'LIF-008', 'LIF-009', 'LIF-011', 'LST-002', 'SES-012', 'SES-014', 'STD-016'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doDestroy(): Promise<void> {}
        },
      ),
  },
  {
    name: 'destroy misses what is gone',
    defect: 'destroy of what is gone is `not_found`.',
    caughtBy: [],
    caughtByRefusal: ['LIF-007', 'LIF-011', 'HAN-007'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doDestroy(handle: SandboxHandle, options: CallOptions): Promise<void> {
            this.sandbox(handle);
            return super.doDestroy(handle, options);
          }
        },
      ),
  },
  {
    name: 'destroy leaves a success',
    defect: 'A command that is killed is told as one that ended well.',
    caughtBy: [
      'LIF-008',
      'SUS-005',
      'SUS-006',
      'CHK-004',
      'SES-012',
      'TER-003',
      'TER-004',
      'TER-006',
      'TTY-013',
      'EXE-005',
      'STR-010',
      'ATT-004',
      'TTY-009',
    ],
    make: () =>
      fake(
        withFrames((item, pass) =>
          pass(item.type === 'exit' && item.signal !== undefined ? { type: 'exit', exitCode: 0 } : item),
        ),
      ),
  },
  {
    name: 'names hidden, not freed',
    defect: 'destroy hides a sandbox, and the next of its name is the same again.',
    caughtBy: ['LIF-008', 'LIF-009', 'SES-012', 'SES-014'],
    make: () =>
      fake(
        class extends TargetFake {
          readonly #hidden = new Set<string>();
          protected override async doDestroy({ name }: SandboxHandle): Promise<void> {
            this.#hidden.add(name);
          }
          protected override doCreate(name: string): Promise<SandboxHandle> {
            this.#hidden.delete(name);
            return super.doCreate(name);
          }
          protected override sandbox(handle: SandboxHandle): Sandbox {
            if (this.#hidden.has(handle.name)) throw new SandboxError('not_found');
            return super.sandbox(handle);
          }
        },
      ),
  },
  {
    name: 'two minds',
    defect: 'get learns of a destroy later than everything else, and not of the create behind it.',
    caughtBy: ['LIF-010'],
    make: () =>
      fake(
        class extends TargetFake {
          readonly #gone = new Set<string>();
          protected override async doDestroy(handle: SandboxHandle, options: CallOptions): Promise<void> {
            await super.doDestroy(handle, options);
            this.#gone.add(handle.name);
          }
          protected override async doGet(handle: SandboxHandle): Promise<SandboxInfo> {
            if (this.#gone.has(handle.name)) throw new SandboxError('not_found');
            return super.doGet(handle);
          }
        },
      ),
  },
  {
    name: 'destroys its neighbours',
    defect: 'destroy of one sandbox destroys all.',
    caughtBy: ['LIF-012'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doDestroy(_: SandboxHandle, options: CallOptions): Promise<void> {
            for (const name of await super.doListAllNames()) await super.doDestroy(this.buildHandle(name), options);
          }
        },
      ),
  },
  {
    name: 'createNew without an id',
    defect: 'The handle of createNew does not name the incarnation.',
    caughtBy: ['NEW-001', 'NEW-003'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doCreateNew(name: string, options: CallOptions): Promise<SandboxHandle> {
            await super.doCreateNew(name, options);
            return sandboxHandle(this.provider, name);
          }
        },
      ),
  },
  {
    name: 'createNew adopts',
    defect: 'createNew gives a sandbox that exists.',
    caughtBy: ['NEW-002', 'NEW-004', 'FLT-023'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doCreateNew(name: string, options: CallOptions): Promise<SandboxHandle> {
            const adopted = (): SandboxHandle => {
              const { instanceId } = this.sandbox(this.buildHandle(name));
              return sandboxHandle(this.provider, name, instanceId);
            };
            return super
              .doCreateNew(name, options)
              .catch((error: SandboxError) => (error.code === 'already_exists' ? adopted() : Promise.reject(error)));
          }
        },
      ),
  },
  {
    name: 'a page forgotten',
    defect: 'A listing ends with its first page.',
    caughtBy: ['LST-001'],
    make: () => fake(withNames((names) => names.slice(0, 3))),
  },
  {
    name: 'a page twice',
    defect: 'The last name of a page is the first of the next as well.',
    caughtBy: ['LST-001'],
    make: () => fake(withNames((names) => names.flatMap((name, i) => (i % 2 ? [name, name] : [name])))),
  },
  {
    name: 'suspended ones not listed',
    defect: 'A listing leaves out what is suspended.',
    caughtBy: ['LST-002'],
    make: () => fake(withNames((names, sandbox) => names.filter((name) => sandbox(name).status === 'running'))),
  },
  {
    name: 'destroyed ones listed',
    defect: 'A listing still has what was destroyed.',
    caughtBy: ['LST-002'],
    make: () => {
      const ever = new Set<string>();
      return fake(withNames((names) => [...names.reduce((all, name) => all.add(name), ever)]));
    },
  },
  {
    name: 'suspend does nothing',
    defect: 'suspend resolves, and the sandbox runs on.',
    caughtBy: ['SUS-001', 'SUS-005', 'FLT-037'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doSuspend(handle: SandboxHandle): Promise<void> {
            this.sandbox(handle);
          }
        },
      ),
  },
  {
    name: 'suspend loses the disk',
    defect: 'A sandbox that was suspended comes back empty.',
    caughtBy: ['SUS-002', 'POL-004'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doSuspend(handle: SandboxHandle, options: CallOptions): Promise<void> {
            await super.doDestroy(handle, options);
            await super.doCreate(handle.name);
            await super.doSuspend(handle, options);
          }
        },
      ),
  },
  {
    name: 'suspends once',
    defect: 'suspend of what is suspended is refused.',
    caughtBy: [],
    caughtByRefusal: ['SUS-003'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doSuspend(handle: SandboxHandle, options: CallOptions): Promise<void> {
            if (this.sandbox(handle).status === 'suspended') throw new SandboxError('invalid');
            return super.doSuspend(handle, options);
          }
        },
      ),
  },
  {
    name: 'sleeps through calls',
    defect: 'What is suspended takes no exec.',
    caughtBy: [],
    caughtByRefusal: ['SUS-004'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doExec(
            ...[handle, request]: Parameters<TargetFake['doExec']>
          ): ReturnType<TargetFake['doExec']> {
            if (this.sandbox(handle).status === 'suspended') throw new SandboxError('unavailable');
            return super.doExec(handle, request);
          }
        },
      ),
  },
  {
    name: 'declares what it does not',
    defect: 'It declares that sessions survive a suspend, and ends them.',
    caughtBy: ['SUS-005'],
    make: () =>
      fake(
        class extends TargetFake {
          override readonly traits = { ...new TargetFake().traits, sessionsOnSuspend: 'survive' } as const;
        },
      ),
  },
  {
    name: 'suspends get stuck',
    defect: 'A suspend and a resume that meet wait for each other.',
    caughtBy: ['SUS-007'],
    make: () =>
      fake(
        class extends TargetFake {
          #busy = false;
          protected override async doSuspend(handle: SandboxHandle, options: CallOptions): Promise<void> {
            if (this.#busy) return never();
            this.#busy = true;
            await super.doSuspend(handle, options);
            this.#busy = false;
          }
          protected override async doResume(handle: SandboxHandle): Promise<SandboxHandle> {
            return this.#busy ? never() : super.doResume(handle);
          }
        },
      ),
  },
  {
    name: 'suspends what is missing',
    defect: 'suspend and resume of a missing sandbox succeed.',
    caughtBy: ['SUS-008', 'LIF-004'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doSuspend(handle: SandboxHandle, options: CallOptions): Promise<void> {
            return super.doSuspend(handle, options).catch(() => {});
          }
        },
      ),
  },
];

function withNames(change: (names: string[], sandbox: (name: string) => Sandbox) => string[]): new () => TargetFake {
  return class extends TargetFake {
    protected override async doListAllNames(options: CallOptions): Promise<string[]> {
      return change(await super.doListAllNames(options), (name) => this.sandbox(this.buildHandle(name)));
    }
  };
}
