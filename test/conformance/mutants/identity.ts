import { SandboxError, sandboxHandle, type CallOptions, type SandboxHandle } from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake, withCalls } from './making.js';
import type { Mutant } from './mutant.js';

const isHandle = (value: unknown): value is SandboxHandle =>
  typeof value === 'object' && value !== null && 'name' in value;

export const identityMutants: readonly Mutant[] = [
  {
    name: 'thawed handles',
    defect: 'buildHandle gives a handle that can be changed.',
    caughtBy: ['HAN-001'],
    make: () =>
      fake(
        class extends TargetFake {
          override buildHandle(name: string): SandboxHandle {
            return { ...super.buildHandle(name) };
          }
        },
      ),
  },
  {
    name: 'handles with luggage',
    defect: 'create gives a handle that carries what the adapter keeps for itself.',
    caughtBy: ['HAN-004'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doCreate(name: string): Promise<SandboxHandle> {
            const kept = { token: 'secret' };
            return Object.freeze({ ...(await super.doCreate(name)), kept });
          }
        },
      ),
  },
  {
    name: 'handles by identity',
    defect: 'A handle is served only if it is the very object that create gave.',
    caughtByRefusal: ['HAN-002'],
    caughtBy: [],
    make: () =>
      fake(
        class extends TargetFake {
          readonly #made = new WeakSet<SandboxHandle>();
          protected override async doCreate(name: string): Promise<SandboxHandle> {
            const handle = await super.doCreate(name);
            this.#made.add(handle);
            return handle;
          }
          protected override sandbox(handle: SandboxHandle): ReturnType<TargetFake['sandbox']> {
            if (!this.#made.has(handle)) throw new SandboxError('not_found');
            return super.sandbox(handle);
          }
        },
      ),
  },
  {
    name: 'own sandboxes only',
    defect: 'A client finds only the sandboxes that it created itself.',
    caughtBy: [],
    caughtByRefusal: ['HAN-006', 'SES-010'],
    make: () =>
      fake(
        class extends TargetFake {
          readonly #created = new Set<string>();
          protected override doCreate(name: string): Promise<SandboxHandle> {
            this.#created.add(name);
            return super.doCreate(name);
          }
          protected override sandbox(handle: SandboxHandle): ReturnType<TargetFake['sandbox']> {
            if (!this.#created.has(handle.name)) throw new SandboxError('not_found');
            return super.sandbox(handle);
          }
        },
      ),
  },
  {
    name: 'foreign handles served',
    defect: 'A handle of another provider is taken for one of its own.',
    caughtBy: ['HAN-003', 'EXE-020'],
    make: () =>
      fake(
        withCalls(({ args: [first, ...rest], adapter, run }) =>
          run([isHandle(first) ? { ...first, provider: adapter.provider } : first, ...rest]),
        ),
      ),
  },
  {
    name: 'any name',
    defect: 'A name that is none is replaced by one that the adapter thinks of.',
    caughtBy: ['HAN-005', 'ERR-002'],
    make: () =>
      fake(
        withCalls(({ operation, args: [name, ...rest], run }) => {
          const isName = typeof name === 'string' && name !== '';
          return run([operation === 'create' && !isName ? 'unnamed' : name, ...rest]);
        }),
      ),
  },
  {
    name: 'incarnations mixed up',
    defect: 'The incarnation in a handle is not looked at: whatever has the name is acted on.',
    caughtBy: ['HAN-007', 'HAN-015'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override sandbox({ provider, name }: SandboxHandle): ReturnType<TargetFake['sandbox']> {
            return super.sandbox({ provider, name });
          }
          protected override doDestroy({ provider, name }: SandboxHandle, options: CallOptions): Promise<void> {
            return super.doDestroy({ provider, name }, options);
          }
        },
      ),
  },
  {
    name: 'incarnations without number',
    defect: 'createNew gives the name as the id of the incarnation.',
    caughtBy: ['NEW-003', 'HAN-007'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doCreateNew(name: string, options: CallOptions): Promise<SandboxHandle> {
            await super.doCreateNew(name, options);
            return sandboxHandle(this.provider, name, name);
          }
          protected override sandbox({ provider, name }: SandboxHandle): ReturnType<TargetFake['sandbox']> {
            return super.sandbox({ provider, name });
          }
          protected override doDestroy({ provider, name }: SandboxHandle, options: CallOptions): Promise<void> {
            return super.doDestroy({ provider, name }, options);
          }
        },
      ),
  },
  {
    name: 'handles by asking',
    defect: 'buildHandle asks the provider whether there is such a sandbox.',
    caughtBy: ['HAN-008'],
    make: () =>
      fake(
        class extends TargetFake {
          override buildHandle(name: string): SandboxHandle {
            const handle = super.buildHandle(name);
            this.get(handle).catch(() => {});
            return handle;
          }
        },
      ),
  },
  {
    name: 'nameless errors',
    defect: 'Errors name another call than the one that failed.',
    caughtBy: ['ERR-001', 'EXE-015'],
    make: () => fake(withErrors((error) => error.with({ operation: 'request' }))),
  },
  {
    name: 'throws bad arguments',
    defect: 'A command that is no text is thrown at the caller, and not a rejection.',
    caughtBy: ['ERR-002', 'EXE-018', 'EXE-019'],
    make: () =>
      fake(
        withCalls(({ operation, args, run }) => {
          const isCommand = operation === 'exec' || operation === 'spawn';
          if (isCommand && (typeof args[1] !== 'string' || args[1] === '')) throw new TypeError('cmd: expected text');
          return run();
        }),
      ),
  },
  {
    name: 'fired signals ignored',
    defect: 'A signal is listened to, and not looked at: one that had fired stops nothing.',
    caughtBy: ['ERR-003', 'LIM-012', 'ATT-010', 'TER-015'],
    make: () =>
      fake(withCalls(({ args, run }) => run(args.map((one) => (hasFired(one) ? { ...one, signal: undefined } : one))))),
  },
  {
    name: 'reasons lost',
    defect: 'An abort does not tell the reason of its signal.',
    caughtBy: ['ERR-003', 'LIM-012', 'LIM-013', 'ATT-010', 'TER-015', 'TER-016', 'FLT-051'],
    make: () => fake(withErrors((error) => (error.code === 'aborted' ? error.with({ cause: undefined }) : error))),
  },
  {
    name: 'everything is unavailable',
    defect: 'A sandbox that is definitely missing is answered with a failure that may pass.',
    caughtBy: ['ERR-001', 'LIF-004', 'LIF-005', 'LIF-006', 'LIF-011', 'EXE-015', 'SUS-008', 'CHK-005', 'SES-014'],
    make: () =>
      fake(
        withErrors((error) =>
          error.code === 'not_found' ? new SandboxError('unavailable', { effect: 'none' }) : error,
        ),
      ),
  },
];

/** Errors of every call, changed. */
function withErrors(change: (error: SandboxError) => SandboxError): ReturnType<typeof withCalls> {
  return withCalls(async ({ run }) => {
    try {
      return await run();
    } catch (error) {
      throw change(error as SandboxError);
    }
  });
}

function hasFired(value: unknown): value is CallOptions {
  return (
    typeof value === 'object' && value !== null && 'signal' in value && (value as CallOptions).signal?.aborted === true
  );
}
