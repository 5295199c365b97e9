import {
  SandboxError,
  type ByteSource,
  type EnvPair,
  type ExecRequest,
  type ExecResult,
  type SandboxCommand,
  type SandboxHandle,
  type SpawnRequest,
} from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake, withExecRequests, withProcesses } from './making.js';
import type { Mutant } from './mutant.js';

export const processMutants: readonly Mutant[] = [
  {
    name: 'arguments through a shell',
    defect: 'Arguments are joined to a line and taken apart at spaces again.',
    caughtBy: ['PRO-001', 'PRO-002'],
    make: () => fake(withProcesses(({ args }) => ({ args: args.join(' ').split(' ') }))),
  },
  {
    name: 'empty arguments dropped',
    defect: 'An argument that is empty is left out.',
    caughtBy: ['PRO-001', 'PRO-002', 'PRO-013'],
    make: () => fake(withProcesses(({ args }) => ({ args: args.filter((one) => one !== '') }))),
  },
  {
    name: 'long arguments cut',
    defect: 'Of an argument only the first 64 KiB are handed over.',
    caughtBy: ['PRO-003'],
    make: () => fake(withProcesses(({ args }) => ({ args: args.map((one) => one.slice(0, 65_536)) }))),
  },
  {
    name: 'many arguments cut',
    defect: 'Of many arguments the last are left out.',
    caughtBy: ['PRO-004'],
    make: () => fake(withProcesses(({ args }) => ({ args: args.slice(0, 2_000) }))),
  },
  {
    name: 'empty variables lost',
    defect: 'A variable that is empty is not set.',
    caughtBy: ['PRO-005', 'PRO-013'],
    make: () => fake(withProcesses(({ env }) => ({ env: env.filter(([, value]) => value !== '') }))),
  },
  {
    name: 'variables of an object',
    defect: 'Variables go through an object whose __proto__ is not theirs.',
    caughtBy: ['PRO-006'],
    make: () =>
      fake(
        withProcesses(({ env }) => {
          const variables: Record<string, string> = {};
          for (const [name, value] of env) variables[name] = value;
          return { env: Object.entries(variables) };
        }),
      ),
  },
  {
    name: 'its own variables win',
    defect: 'A variable that the sandbox has of its own cannot be replaced.',
    caughtBy: ['PRO-007'],
    make: () => fake(withProcesses(({ env }) => ({ env: env.filter(([name]) => name !== 'HOME' && name !== 'PATH') }))),
  },
  {
    name: 'variables stay',
    defect: 'The variables of a command are those of the next as well.',
    caughtBy: ['PRO-008'],
    make: () => {
      const kept: EnvPair[] = [];
      return fake(
        withProcesses(({ env }) => {
          kept.push(...env);
          return { env: [...kept] };
        }),
      );
    },
  },
  {
    name: 'directory ignored',
    defect: 'A command runs at home, whatever directory it was given.',
    caughtBy: ['PRO-009', 'PRO-011', 'PRO-012', 'PRO-013'],
    make: () => fake(withProcesses(() => ({ dir: undefined }))),
  },
  {
    name: 'a home each time',
    defect: 'A command without a directory gets a new one.',
    caughtBy: ['PRO-010', 'FIL-013'],
    make: () =>
      fake(
        class extends TargetFake {
          #homes = 0;
          protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const dir = request.dir ?? `/home/${++this.#homes}`;
            this.sandbox(handle).files.makeDirectory(dir);
            return super.doExec(handle, { ...request, dir });
          }
        },
      ),
  },
  {
    name: 'no directory is exit 1',
    defect: 'A directory that is missing is told as a command that ended with 1.',
    caughtBy: ['PRO-011', 'PRO-012'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            return super.doExec(handle, request).catch((error: SandboxError) => {
              if (error.detail !== 'no_such_directory') throw error;
              return super.doExec(handle, { ...request, cmd: 'exit:1', args: [], dir: '.' });
            });
          }
        },
      ),
  },
  {
    name: 'spawn without environment',
    defect: 'spawn hands over no variables.',
    caughtBy: ['PRO-013'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
            return super.doSpawn(handle, { ...request, env: [] });
          }
        },
      ),
  },
  {
    name: 'stdin always open',
    defect: 'A command without stdin gets one that never ends.',
    caughtBy: ['STR-013', 'STD-010'],
    caughtByHanging: ['PRO-014'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
            return super.doSpawn(handle, { ...request, stdin: true });
          }
        },
      ),
  },
  {
    name: 'stdin is the last piece',
    defect: 'Of a stdin in pieces only the last is written.',
    caughtBy: ['PRO-016'],
    make: () =>
      fake(
        withStdin(async function* (source) {
          let last: Uint8Array | undefined;
          for await (const piece of pieces(source)) last = piece;
          if (last) yield last;
        }),
      ),
  },
  {
    name: 'unread stdin is an error',
    defect: 'A command that does not read all of its stdin has failed.',
    caughtBy: [],
    caughtByRefusal: ['PRO-017'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            if (request.stdin === undefined) return super.doExec(handle, request);
            let isRead = false;
            const source = request.stdin;
            const stdin = (async function* (): AsyncGenerator<Uint8Array> {
              yield* pieces(source);
              isRead = true;
            })();
            const result = await super.doExec(handle, { ...request, stdin });
            if (!isRead) throw new SandboxError('write_failed');
            return result;
          }
        },
      ),
  },
  {
    name: 'a failing source is an end',
    defect: 'A source of stdin that fails is taken for one that has ended.',
    caughtBy: ['PRO-018'],
    make: () =>
      fake(
        withStdin(async function* (source) {
          try {
            yield* pieces(source);
          } catch {
            // As if that were all.
          }
        }),
      ),
  },
  {
    name: 'stays where it was',
    defect: 'A command without a directory begins where the one before ran.',
    caughtBy: ['PRO-021'],
    make: () => {
      let last: string | undefined;
      return fake(
        withProcesses(({ dir }) => {
          last = dir ?? last;
          return { dir: last };
        }),
      );
    },
  },
  {
    name: 'names that a shell can say',
    defect: 'A variable whose name no shell can say is not set.',
    caughtBy: ['PRO-022'],
    make: () => fake(withProcesses(({ env }) => ({ env: env.filter(([name]) => /^[A-Za-z_]\w*$/.test(name)) }))),
  },
  {
    name: 'one home for another',
    defect: 'Where an argument or a variable names the usual home, that of the sandbox is put in its place.',
    caughtBy: ['PRO-001', 'PRO-005', 'PRO-013'],
    make: () => {
      const renamed = (text: string): string => text.replaceAll('/home/sprite', '/home/sandbox');
      return fake(
        withProcesses(({ args, env }) => ({
          args: args.map(renamed),
          env: env.map(([name, value]) => [name, renamed(value)]),
        })),
      );
    },
  },
  {
    name: 'the first variables',
    defect: 'Of many variables the first 32 are set.',
    caughtBy: ['PRO-024'],
    make: () => fake(withProcesses(({ env }) => ({ env: env.slice(0, 32) }))),
  },
];

function withStdin(change: (source: ByteSource) => AsyncIterable<Uint8Array>): ReturnType<typeof withExecRequests> {
  return withExecRequests(({ stdin }) => (stdin === undefined ? {} : { stdin: change(stdin) }));
}

async function* pieces(source: ByteSource): AsyncGenerator<Uint8Array> {
  if (source instanceof Uint8Array) {
    for (let at = 0; at < source.byteLength; at += 65_536) yield source.subarray(at, at + 65_536);
  } else {
    yield* source;
  }
}
