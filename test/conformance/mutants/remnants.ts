import type { CallOptions, SandboxCommand, SandboxError, SandboxHandle, SpawnRequest } from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake, withCalls, withExecRequests, withSink } from './making.js';
import type { Mutant } from './mutant.js';

/** How long a timer that was forgotten stays: longer than its case, and not for ever. */
const FORGOTTEN_MS = 8_000;

export const remnantMutants: readonly Mutant[] = [
  {
    name: 'errors that tell the variables',
    defect: 'The error of an exec says with which variables it ran.',
    caughtBy: ['ERR-004'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doExec(...given: Parameters<TargetFake['doExec']>): ReturnType<TargetFake['doExec']> {
            const [, { env }] = given;
            return super.doExec(...given).catch((error: SandboxError) => {
              throw error.with({ message: `${error.message}: ${JSON.stringify(env)}` });
            });
          }
        },
      ),
  },
  {
    name: 'errors that keep the request',
    defect: 'The cause of an error is the request, with its content.',
    caughtBy: ['ERR-004'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doWriteFile(
            ...given: Parameters<TargetFake['doWriteFile']>
          ): ReturnType<TargetFake['doWriteFile']> {
            return super.doWriteFile(...given).catch((error: SandboxError) => {
              throw error.with({ cause: given[1] });
            });
          }
        },
      ),
  },
  {
    name: 'commands that show their request',
    defect: 'A command has its request as a property.',
    caughtBy: ['STR-034'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
            return Object.assign(await super.doSpawn(handle, request), { request });
          }
        },
      ),
  },
  {
    name: 'listens for ever',
    defect: 'The listener on the signal of a call stays there.',
    caughtBy: [],
    caughtByHanging: ['LIM-019'],
    make: () =>
      fake(
        withCalls(({ args, run }) => {
          const { signal } = (args.at(-1) ?? {}) as CallOptions;
          if (signal instanceof AbortSignal) signal.addEventListener('abort', () => {});
          return run();
        }),
      ),
  },
  {
    name: 'forgets its timers',
    defect: 'The timer of a deadline goes on when the exec has ended.',
    inNode: true,
    caughtBy: [],
    caughtByHanging: ['LIM-020'],
    make: () =>
      fake(
        withExecRequests(({ timeoutMs }) => {
          if (timeoutMs === undefined) return {};
          const timer = setTimeout(() => {}, timeoutMs);
          setTimeout(() => clearTimeout(timer), FORGOTTEN_MS).unref();
          return {};
        }),
      ),
  },
  {
    name: 'rejections for nobody',
    defect: 'A transport that breaks rejects a promise that nobody has.',
    inNode: true,
    caughtBy: ['FLT-056'],
    make: () =>
      fake(
        withSink((sink) => ({
          frame: (item) => sink.frame(item),
          error(error) {
            void failing(error);
            sink.error(error);
          },
        })),
      ),
  },
];

async function failing(error: SandboxError): Promise<never> {
  throw error;
}
