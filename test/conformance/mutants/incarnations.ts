import { sandboxHandle, type CallOptions, type SandboxHandle } from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake, withCalls, withCommands } from './making.js';
import type { Mutant } from './mutant.js';

const nameOnly = ({ provider, name }: SandboxHandle): SandboxHandle => sandboxHandle(provider, name);

export const incarnationMutants: readonly Mutant[] = [
  {
    name: 'handles that can be changed',
    defect: 'The handle that create gives is not frozen.',
    caughtBy: ['HAN-009'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doCreate(...given: Parameters<TargetFake['doCreate']>): Promise<SandboxHandle> {
            return { ...(await super.doCreate(...given)) };
          }
        },
      ),
  },
  {
    name: 'incarnations that JSON loses',
    defect: 'The incarnation in a handle is a property that is not enumerated.',
    caughtBy: ['HAN-010'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doCreateNew(name: string, options: CallOptions): Promise<SandboxHandle> {
            const { provider, instanceId } = await super.doCreateNew(name, options);
            const handle = Object.defineProperty({ provider, name }, 'instanceId', { value: instanceId });
            return Object.freeze(handle);
          }
        },
      ),
  },
  {
    name: 'resumed without an incarnation',
    defect: 'The handle that resume gives names no incarnation.',
    caughtBy: ['HAN-010'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doResume(handle: SandboxHandle, options: CallOptions): Promise<SandboxHandle> {
            return nameOnly(await super.doResume(handle, options));
          }
        },
      ),
  },
  {
    name: 'terminates and restores by name',
    defect: 'A terminate and a restore do not look at the incarnation.',
    caughtBy: ['HAN-011', 'CHK-006'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doTerminateSession(
            ...[handle, request]: Parameters<TargetFake['doTerminateSession']>
          ): Promise<void> {
            return super.doTerminateSession(nameOnly(handle), request);
          }
          protected override doRestoreCheckpoint(
            handle: SandboxHandle,
            id: string,
            options: CallOptions,
          ): Promise<void> {
            return super.doRestoreCheckpoint(nameOnly(handle), id, options);
          }
        },
      ),
  },
  {
    name: 'incarnations counted by each client',
    defect: 'The id of an incarnation is a number that each client counts for itself.',
    caughtBy: ['NEW-006'],
    make: () => fake(CountsIncarnations),
  },
  {
    name: 'acts by name',
    defect: 'What acts in a sandbox does not look at the incarnation.',
    caughtBy: ['HAN-013'],
    make: () => fake(byName('exec', 'spawn', 'writeFile', 'suspend', 'applyNetworkPolicy', 'createCheckpoint')),
  },
  {
    name: 'reads by name',
    defect: 'What reads in a sandbox does not look at the incarnation.',
    caughtBy: ['HAN-013'],
    make: () => fake(byName('readFile', 'listFiles', 'statFile', 'listSessions', 'publicUrl')),
  },
  {
    name: 'joins by name',
    defect: 'An attach does not look at the incarnation.',
    caughtBy: ['HAN-013'],
    make: () => fake(byName('attach')),
  },
  {
    name: 'commands of no incarnation',
    defect: 'The handle of a command does not name the incarnation.',
    caughtBy: ['HAN-014'],
    make: () => fake(withCommands(({ handle }) => ({ handle: nameOnly(handle) }))),
  },
];

function byName(...operations: readonly string[]): ReturnType<typeof withCalls> {
  return withCalls(({ operation, args: [handle, ...rest], run }) =>
    operations.includes(operation) ? run([nameOnly(handle as SandboxHandle), ...rest]) : run(),
  );
}

class CountsIncarnations extends TargetFake {
  readonly #ids = new Map<string, string>();

  protected override async doCreateNew(name: string, options: CallOptions): Promise<SandboxHandle> {
    const { instanceId } = await super.doCreateNew(name, options);
    const id = `number-${this.#ids.size + 1}`;
    this.#ids.set(id, instanceId as string);
    return sandboxHandle(this.provider, name, id);
  }

  protected override sandbox(handle: SandboxHandle): ReturnType<TargetFake['sandbox']> {
    return super.sandbox(this.#true(handle));
  }

  protected override doDestroy(handle: SandboxHandle, options: CallOptions): Promise<void> {
    return super.doDestroy(this.#true(handle), options);
  }

  #true({ provider, name, instanceId }: SandboxHandle): SandboxHandle {
    return sandboxHandle(provider, name, instanceId && (this.#ids.get(instanceId) ?? instanceId));
  }
}
