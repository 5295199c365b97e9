import {
  SandboxError,
  type SandboxCommand,
  type SandboxHandle,
  type SpawnRequest,
  type TerminalSize,
} from '#libs/contract';
import { TargetFake, type FakeKind } from '../targets/fake.js';
import { fake, withCalls, withChannel, withCommands } from './making.js';
import type { Mutant } from './mutant.js';

const isSize = (value: unknown): value is TerminalSize => {
  const { cols, rows } = (value ?? {}) as Partial<TerminalSize>;
  return [cols, rows].every((one) => Number.isInteger(one) && Number(one) > 0 && Number(one) < 65_536);
};

export const terminalMutants: readonly Mutant[] = [
  {
    name: 'columns are rows',
    defect: 'A terminal is as high as it should be wide.',
    caughtBy: [],
    caughtByHanging: ['TTY-001', 'TTY-002'],
    make: () => fake(withTerminal(({ cols, rows }) => ({ cols: rows, rows: cols }))),
  },
  {
    name: 'resizes to nothing',
    defect: 'A resize resolves, and the terminal is as it was.',
    caughtBy: [],
    caughtByHanging: ['TTY-003', 'TTY-011'],
    make: () => fake(withChannel(() => ({ resize: async () => {} }))),
  },
  {
    name: 'resizes the living only',
    defect: 'A resize after the exit is refused.',
    caughtBy: [],
    caughtByRefusal: ['TTY-004'],
    make: () =>
      fake(
        withCommands((command) => {
          let hasEnded = false;
          command.exit.finally(() => (hasEnded = true)).catch(() => {});
          return {
            resize: (size: TerminalSize): Promise<void> =>
              hasEnded ? Promise.reject(new SandboxError('command_exited')) : command.resize(size),
          };
        }),
      ),
  },
  {
    name: 'resizes what has no size',
    defect: 'A resize of a command without a terminal succeeds.',
    caughtBy: ['TTY-005'],
    make: () =>
      fake(
        withCommands((command) => ({
          resize: (size: TerminalSize): Promise<void> =>
            command
              .resize(size)
              .catch((error: SandboxError) => (error.code === 'not_supported' ? undefined : Promise.reject(error))),
        })),
      ),
  },
  {
    name: 'a terminal of any kind',
    defect: 'A terminal of a size that is none has the usual one.',
    caughtBy: ['TTY-006'],
    make: () =>
      fake(
        withCalls(({ operation, args: [handle, cmd, args, options], run }) => {
          const { tty } = (options ?? {}) as { tty?: unknown };
          const isOdd = operation === 'spawn' && tty !== undefined && typeof tty !== 'boolean' && !isSize(tty);
          return run([handle, cmd, args, isOdd ? { ...(options as object), tty: true } : options]);
        }),
      ),
  },
  {
    name: 'sizes of any kind',
    defect: 'A resize to a size that is none resolves.',
    caughtBy: ['TTY-007'],
    make: () =>
      fake(
        withCommands((command) => ({
          resize: async (size: TerminalSize): Promise<void> => (isSize(size) ? command.resize(size) : undefined),
        })),
      ),
  },
  {
    name: 'control bytes kept back',
    defect: 'Byte 3 does not reach a terminal.',
    caughtBy: ['TTY-009'],
    make: () => fake(withChannel((channel) => ({ write: (data) => channel.write(data.filter((byte) => byte !== 3)) }))),
  },
  {
    name: 'no terminal',
    defect: 'A command that asked for a terminal gets pipes.',
    caughtBy: ['TTY-008'],
    caughtByHanging: ['TTY-001', 'TTY-002'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doSpawn(
            handle: SandboxHandle,
            { tty: _, ...request }: SpawnRequest,
          ): Promise<SandboxCommand> {
            return super.doSpawn(handle, request);
          }
        },
      ),
  },
];

function withTerminal(change: (size: TerminalSize) => TerminalSize): FakeKind {
  return class extends TargetFake {
    protected override doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
      return super.doSpawn(handle, { ...request, ...(request.tty && { tty: change(request.tty) }) });
    }
  };
}
