import type { CallOptions, Checkpoint, NetworkPolicy, SandboxHandle } from '#libs/contract';
import { TargetFake, type FakeKind } from '../targets/fake.js';
import { fake, withCalls } from './making.js';
import type { Mutant } from './mutant.js';

type Sandbox = ReturnType<TargetFake['sandbox']>;

export const policyMutants: readonly Mutant[] = [
  {
    name: 'empty is no policy',
    defect: 'A policy that allows nothing is taken for none.',
    caughtBy: ['POL-001', 'POL-003', 'POL-004'],
    make: () => fake(withPolicy((policy, _, apply) => (policy.allow.length > 0 ? apply(policy) : Promise.resolve()))),
  },
  {
    name: 'policies add up',
    defect: 'A policy allows what the one before allowed as well.',
    caughtBy: ['POL-002'],
    make: () => fake(withPolicy(({ allow }, before, apply) => apply({ allow: [...(before?.allow ?? []), ...allow] }))),
  },
  {
    name: 'no policy is one',
    defect: 'A policy that is none is taken for one that allows everything.',
    caughtBy: ['POL-003'],
    make: () =>
      fake(
        withCalls(({ operation, args: [handle, policy, ...rest], run }) => {
          const isPolicy = Array.isArray((policy as NetworkPolicy | undefined)?.allow);
          return operation === 'applyNetworkPolicy' && !isPolicy ? Promise.resolve() : run([handle, policy, ...rest]);
        }),
      ),
  },
  {
    name: 'policies end with a suspend',
    defect: 'A sandbox that was resumed may reach everything.',
    caughtBy: ['POL-004'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doResume(handle: SandboxHandle, options: CallOptions): Promise<SandboxHandle> {
            this.sandbox(handle).policy = undefined;
            return super.doResume(handle, options);
          }
        },
      ),
  },
  {
    name: 'one policy for all',
    defect: 'A policy holds for every sandbox.',
    caughtBy: ['POL-004'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doApplyNetworkPolicy(_: SandboxHandle, policy: NetworkPolicy): Promise<void> {
            for (const name of await super.doListAllNames()) this.sandbox(this.buildHandle(name)).policy = policy;
          }
        },
      ),
  },
];

export const publicUrlMutants: readonly Mutant[] = [
  {
    name: 'one URL for all',
    defect: 'Every sandbox has the same URL.',
    caughtBy: ['URL-001'],
    make: () => fake(withUrl((_, port) => `https://sandbox.test/${port}/`)),
  },
  {
    name: 'no browser opens it',
    defect: 'The URL is an address without a protocol.',
    caughtBy: ['URL-001'],
    make: () => fake(withUrl(({ name }, port) => `${name}.sandbox.test:${port}`)),
  },
  {
    name: 'one URL for every port',
    defect: 'The URL of a port is that of the first.',
    caughtBy: ['URL-002'],
    make: () => fake(withUrl(({ name }) => `https://sandbox.test/${name}/`)),
  },
  {
    name: 'any port',
    defect: 'A port that is none gets the URL of port 80.',
    caughtBy: ['URL-003'],
    make: () =>
      fake(
        withCalls(({ operation, args, run }) => {
          const port = (args[1] as { port?: unknown } | undefined)?.port;
          const isPort = Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536;
          return run(operation === 'publicUrl' && !isPort ? [args[0], { port: 80 }] : args);
        }),
      ),
  },
];

export const checkpointMutants: readonly Mutant[] = [
  {
    name: 'restores nothing',
    defect: 'A restore resolves, and everything is as it was.',
    caughtBy: ['CHK-001', 'CHK-002', 'CHK-003', 'CHK-004', 'CHK-005'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doRestoreCheckpoint(): Promise<void> {}
        },
      ),
  },
  {
    name: 'restores the newest',
    defect: 'A restore goes back to the newest checkpoint, whichever was named.',
    caughtBy: ['CHK-002'],
    make: () =>
      fake(
        class extends TargetFake {
          #newest = '';
          protected override async doCreateCheckpoint(handle: SandboxHandle): Promise<Checkpoint> {
            const checkpoint = await super.doCreateCheckpoint(handle);
            this.#newest = checkpoint.id;
            return checkpoint;
          }
          protected override doRestoreCheckpoint(
            handle: SandboxHandle,
            _: string,
            options: CallOptions,
          ): Promise<void> {
            return super.doRestoreCheckpoint(handle, this.#newest, options);
          }
        },
      ),
  },
  {
    name: 'later files stay',
    defect: 'A restore leaves the files that were made after the checkpoint.',
    caughtBy: ['CHK-001'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doRestoreCheckpoint(
            handle: SandboxHandle,
            id: string,
            options: CallOptions,
          ): Promise<void> {
            const { files } = this.sandbox(handle);
            const now = files.list('.').filter(({ type }) => type === 'file');
            const kept = now.map(({ name }) => [name, files.read(name)] as const);
            await super.doRestoreCheckpoint(handle, id, options);
            const then = new Set(files.list('.').map(({ name }) => name));
            for (const [name, data] of kept) if (!then.has(name)) files.write(name, data, undefined);
          }
        },
      ),
  },
  {
    name: 'checkpoints of everybody',
    defect: 'A checkpoint is restored in whichever sandbox it is asked for.',
    caughtBy: ['CHK-007'],
    make: () =>
      fake(
        class extends TargetFake {
          readonly #files = new Map<string, ReturnType<Sandbox['files']['snapshot']>>();
          protected override async doCreateCheckpoint(handle: SandboxHandle): Promise<Checkpoint> {
            const checkpoint = await super.doCreateCheckpoint(handle);
            this.#files.set(checkpoint.id, this.sandbox(handle).files.snapshot());
            return checkpoint;
          }
          protected override async doRestoreCheckpoint(
            handle: SandboxHandle,
            id: string,
            options: CallOptions,
          ): Promise<void> {
            const files = this.#files.get(id);
            if (files === undefined) return super.doRestoreCheckpoint(handle, id, options);
            this.sandbox(handle).files.restore(files);
          }
        },
      ),
  },
];

type Apply = (policy: NetworkPolicy) => Promise<void>;

function withPolicy(
  change: (policy: NetworkPolicy, before: NetworkPolicy | undefined, apply: Apply) => Promise<void>,
): FakeKind {
  return class extends TargetFake {
    protected override doApplyNetworkPolicy(handle: SandboxHandle, policy: NetworkPolicy): Promise<void> {
      return change(policy, this.policy(handle.name), (one) => super.doApplyNetworkPolicy(handle, one));
    }
  };
}

function withUrl(url: (handle: SandboxHandle, port: number) => string): FakeKind {
  return class extends TargetFake {
    protected override async doPublicUrl(handle: SandboxHandle, port: number): Promise<string> {
      await super.doPublicUrl(handle, port);
      return url(handle, port);
    }
  };
}
