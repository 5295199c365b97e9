import { sandboxHandle, type CallOptions, type SandboxHandle } from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake } from './making.js';
import type { Mutant } from './mutant.js';

/** What a page of a listing holds. */
const PAGE = 3;

export const nameMutants: readonly Mutant[] = [
  {
    name: 'names by their beginning',
    defect: 'A sandbox is found by a name that begins as its own does.',
    caughtBy: ['LIF-013'],
    make: () => fake(ByBeginning),
  },
  {
    name: 'names without capitals',
    defect: 'Capitals in a name are made small.',
    caughtBy: ['LIF-015'],
    make: () => {
      const small = ({ provider, name, instanceId }: SandboxHandle): SandboxHandle =>
        sandboxHandle(provider, name.toLowerCase(), instanceId);
      return fake(
        class extends TargetFake {
          protected override sandbox(handle: SandboxHandle): ReturnType<TargetFake['sandbox']> {
            return super.sandbox(small(handle));
          }
          protected override doDestroy(handle: SandboxHandle, options: CallOptions): Promise<void> {
            return super.doDestroy(small(handle), options);
          }
        },
      );
    },
  },
  {
    name: 'one list for all who ask',
    defect: 'While no sandbox comes or goes, everybody is given the same list of names.',
    caughtBy: ['LST-003'],
    make: () => {
      let [key, known] = ['', [] as string[]];
      return fake(
        class extends TargetFake {
          protected override async doListAllNames(options?: CallOptions): Promise<string[]> {
            const names = await super.doListAllNames(options);
            if (names.join() !== key) [key, known] = [names.join(), names];
            return known;
          }
        },
      );
    },
  },
  {
    name: 'a full page forgotten',
    defect: 'The last page of a listing is left out when it is full.',
    caughtBy: ['LST-001'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doListAllNames(options?: CallOptions): Promise<string[]> {
            const names = await super.doListAllNames(options);
            return names.length % PAGE === 0 ? names.slice(0, -PAGE) : names;
          }
        },
      ),
  },
];

class ByBeginning extends TargetFake {
  protected override sandbox(handle: SandboxHandle): ReturnType<TargetFake['sandbox']> {
    return super.sandbox(this.#found(handle));
  }

  protected override doDestroy(handle: SandboxHandle, options: CallOptions): Promise<void> {
    return super.doDestroy(this.#found(handle), options);
  }

  /** Where there is none of that very name, one of a longer name. */
  #found(handle: SandboxHandle): SandboxHandle {
    const isThere = (name: string): boolean => this.file(name, `.${name}`) !== undefined;
    if (isThere(handle.name)) return handle;
    const longer = this.#names.find((name) => name.startsWith(handle.name) && isThere(name));
    return longer === undefined ? handle : { ...handle, name: longer };
  }

  readonly #names: string[] = [];

  protected override async doCreate(name: string, options?: CallOptions): Promise<SandboxHandle> {
    const handle = await super.doCreate(name, options);
    this.#names.push(name);
    super.sandbox(handle).files.write(`.${name}`, Buffer.of(), undefined);
    return handle;
  }
}
