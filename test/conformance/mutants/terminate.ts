import {
  SandboxError,
  type AttachRequest,
  type SandboxCommand,
  type SandboxHandle,
  type SpawnRequest,
  type TerminateRequest,
} from '#libs/contract';
import type { SessionSink } from '#libs/protocol';
import { TargetFake, type FakeKind } from '../targets/fake.js';
import { altered, fake } from './making.js';
import type { Mutant } from './mutant.js';

type Sandbox = ReturnType<TargetFake['sandbox']>;

export const terminationMutants: readonly Mutant[] = [
  {
    name: 'a stop that did not happen',
    defect: 'A termination resolves, and nothing was done.',
    caughtBy: ['TER-002', 'TER-003', 'TER-004', 'TER-006', 'TER-007', 'TER-013', 'TER-014', 'STD-015', 'TTY-013'],
    make: () => fake(withTermination(async () => {})),
  },
  {
    name: 'a stop that was asked for',
    defect: 'A termination resolves when TERM was sent.',
    caughtBy: ['TER-004'],
    make: () =>
      fake(
        withTermination(async (sandbox, { sessionId, mode }) => {
          sandbox.findSession(sessionId)?.signal(mode === 'force' ? 'SIGKILL' : 'SIGTERM');
        }),
      ),
  },
  {
    name: 'no grace',
    defect: 'A termination kills at once.',
    caughtBy: [],
    caughtByHanging: ['TER-005'],
    make: () => fake(withTermination((_, request, terminate) => terminate({ ...request, mode: 'force' }))),
  },
  {
    name: 'no force',
    defect: 'A termination gives its grace, also when it is forced.',
    caughtBy: ['TER-006'],
    make: () => fake(withTermination((_, request, terminate) => terminate({ ...request, mode: 'graceful' }))),
  },
  {
    name: 'terminates once',
    defect: 'A termination of what has ended or is not there is refused.',
    caughtBy: [],
    caughtByRefusal: ['TER-007', 'TER-008', 'TER-009', 'TER-012'],
    make: () =>
      fake(
        withTermination(async (sandbox, request, terminate) => {
          const isRunning = sandbox.sessions.some(({ id, end }) => id === request.sessionId && end === undefined);
          if (!isRunning) throw new SandboxError('not_found');
          await terminate(request);
        }),
      ),
  },
  {
    name: 'terminates everything',
    defect: 'A termination ends all that runs in the sandbox.',
    caughtBy: ['TER-011'],
    make: () => fake(withTermination((sandbox) => sandbox.stopAll())),
  },
  {
    name: 'terminates elsewhere',
    defect: 'A termination finds its session in whichever sandbox it is.',
    caughtBy: ['TER-012'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doTerminateSession(_: SandboxHandle, request: TerminateRequest): Promise<void> {
            for (const name of await super.doListAllNames()) {
              await super.doTerminateSession(this.buildHandle(name), request);
            }
          }
        },
      ),
  },
  {
    name: 'terminates listed ones only',
    defect: 'A termination of a session that is not detachable does nothing.',
    caughtBy: ['TER-013'],
    make: () =>
      fake(
        withTermination(async (sandbox, request, terminate) => {
          if (sandbox.running().some(({ id }) => id === request.sessionId)) await terminate(request);
        }),
      ),
  },
  {
    name: 'waits for the reader',
    defect: 'A termination resolves when the output has been read.',
    caughtBy: ['TER-014'],
    make: () =>
      fake(
        class extends TargetFake {
          readonly #untaken = new Map<SandboxCommand, Promise<unknown>>();
          protected override async doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
            return altered(await super.doSpawn(handle, request), (command) => ({
              forEach: (sink: Parameters<SandboxCommand['forEach']>[0]) => {
                const reading = command.forEach(sink);
                this.#untaken.set(
                  command,
                  reading.catch(() => {}),
                );
                return reading;
              },
            }));
          }
          protected override async doTerminateSession(handle: SandboxHandle, request: TerminateRequest): Promise<void> {
            await super.doTerminateSession(handle, request);
            if (this.#untaken.size === 0) await new Promise(() => {});
          }
        },
      ),
  },
  {
    name: 'success of a lost answer',
    defect: 'A termination that cannot be confirmed has succeeded.',
    caughtBy: ['TER-018'],
    make: () => fake(withTermination((_, request, terminate) => terminate(request).catch(() => {}))),
  },
  {
    name: 'forgets what it terminated',
    defect: 'A session that was terminated cannot be joined any more.',
    caughtBy: [],
    caughtByRefusal: ['TER-020'],
    make: () =>
      fake(
        class extends TargetFake {
          readonly #gone = new Set<string>();
          protected override async doTerminateSession(handle: SandboxHandle, request: TerminateRequest): Promise<void> {
            await super.doTerminateSession(handle, request);
            this.#gone.add(request.sessionId);
          }
          protected override async doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
            if (this.#gone.has(request.sessionId)) throw new SandboxError('not_found');
            return super.doAttach(handle, request);
          }
        },
      ),
  },
  {
    name: 'terminated is well ended',
    defect: 'Who joins a session that was terminated is told that it ended with 0.',
    caughtBy: ['TER-020'],
    make: () =>
      fake(
        class extends TargetFake {
          #isJoining = false;
          protected override sink(sink: SessionSink): SessionSink {
            const isJoining = this.#isJoining;
            return super.sink({
              frame: (item) => sink.frame(item.type === 'exit' && isJoining ? { type: 'exit', exitCode: 0 } : item),
              error: (error) => sink.error(error),
            });
          }
          protected override doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
            this.#isJoining = true;
            const joining = super.doAttach(handle, request);
            this.#isJoining = false;
            return joining;
          }
        },
      ),
  },
];

type Terminate = (request: TerminateRequest) => Promise<void>;

function withTermination(
  change: (sandbox: Sandbox, request: TerminateRequest, terminate: Terminate) => Promise<void>,
): FakeKind {
  return class extends TargetFake {
    protected override doTerminateSession(handle: SandboxHandle, request: TerminateRequest): Promise<void> {
      return change(this.sandbox(handle), request, (one) => super.doTerminateSession(handle, one));
    }
  };
}
