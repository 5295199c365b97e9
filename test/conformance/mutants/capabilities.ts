import { SANDBOX_CAPABILITIES, type SandboxCapability, type SandboxTraits } from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake, withCalls } from './making.js';
import type { Mutant } from './mutant.js';

const NONE: readonly SandboxCapability[] = [];
const TWINS = ['CAP-010', 'CAP-011', 'CAP-012', 'CAP-013', 'CAP-014', 'CAP-015', 'CAP-016', 'CAP-017', 'CAP-018'];

export const capabilityMutants: readonly Mutant[] = [
  {
    name: 'a capability of its own',
    defect: 'It declares a capability that the contract does not know.',
    caughtBy: ['CAP-001'],
    make: () =>
      fake(
        class extends TargetFake {
          override readonly capabilities: ReadonlySet<SandboxCapability> = new Set(['files', 'teleport'] as never);
        },
      ),
  },
  {
    name: 'more of one than of all',
    defect: 'It promises of a sandbox what it does not declare.',
    caughtBy: ['CAP-002'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doCapabilitiesOf(): ReadonlySet<SandboxCapability> {
            return new Set(SANDBOX_CAPABILITIES);
          }
        },
        { capabilities: ['files'] },
      ),
  },
  {
    name: 'says yes to everything',
    defect: 'supports says yes, whatever is declared.',
    caughtBy: ['CAP-003'],
    make: () =>
      fake(
        class extends TargetFake {
          override supports(): boolean {
            return true;
          }
        },
        { capabilities: ['files'] },
      ),
  },
  {
    name: 'traits missing',
    defect: 'It does not say how it lists.',
    caughtBy: ['CAP-004'],
    make: () =>
      fake(
        class extends TargetFake {
          override readonly traits = {
            sessionsOnSuspend: 'end',
            parks: 'on_request',
            atomicWrites: true,
          } as SandboxTraits;
        },
      ),
  },
  {
    name: 'does what it cannot',
    defect: 'Calls without their capability are carried out all the same.',
    caughtBy: [...TWINS, 'TER-001'],
    make: () => ({ ...fake(TargetFake), capabilities: new Set(NONE) }),
  },
  {
    name: 'asks before it refuses',
    defect: 'A call without its capability goes to the provider before it is refused.',
    caughtBy: TWINS,
    make: () =>
      fake(
        withCalls(async ({ operation, args, adapter, run }) => {
          if (operation !== 'listAllNames') await adapter.listAllNames();
          return run(args);
        }),
        { capabilities: NONE },
      ),
  },
];
