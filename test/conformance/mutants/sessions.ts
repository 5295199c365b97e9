import type {
  AttachRequest,
  CallOptions,
  SandboxCommand,
  SandboxHandle,
  SandboxSession,
  SpawnRequest,
} from '#libs/contract';
import { TargetFake, type FakeKind } from '../targets/fake.js';
import { fake, withAttach, withCommands } from './making.js';
import type { Mutant } from './mutant.js';

type Sandbox = ReturnType<TargetFake['sandbox']>;

export const sessionMutants: readonly Mutant[] = [
  {
    name: 'lists other ids',
    defect: 'A session is listed under another id than its command has.',
    caughtBy: ['SES-001', 'SES-005', 'SES-008', 'FLT-035', 'TER-012', 'TER-018'],
    make: () => fake(withList((sessions) => sessions.map((one) => ({ ...one, id: `x-${one.id}` })))),
  },
  {
    name: 'lists every command',
    defect: 'A session that is not detachable is listed.',
    caughtBy: ['SES-002'],
    make: () =>
      fake(
        withList((_, sandbox) => sandbox.sessions.filter(({ end }) => end === undefined).map(({ id }) => plain(id))),
      ),
  },
  {
    name: 'lists what has ended',
    defect: 'A session stays in the list when it has ended.',
    caughtBy: ['SES-003', 'TER-002', 'TER-007'],
    make: () =>
      fake(
        withList((_, sandbox) => sandbox.sessions.filter(({ detachable }) => detachable).map(({ id }) => plain(id))),
      ),
  },
  {
    name: 'lists terminals only',
    defect: 'Every session is listed as one with a terminal.',
    caughtBy: ['SES-004'],
    make: () => fake(withList((sessions) => sessions.map((one) => ({ ...one, tty: true })))),
  },
  {
    name: 'lists no terminals',
    defect: 'Every session is listed as one without a terminal.',
    caughtBy: ['TTY-010'],
    make: () => fake(withList((sessions) => sessions.map((one) => ({ ...one, tty: false })))),
  },
  {
    name: 'forgets the oldest',
    defect: 'The oldest of several sessions is not listed.',
    caughtBy: ['SES-005'],
    make: () => fake(withList((sessions) => (sessions.length > 1 ? sessions.slice(0, -1) : sessions))),
  },
  {
    name: 'ids of its own',
    defect: 'The id of a session holds what no URL and no file name does.',
    caughtBy: ['SES-007'],
    make: () => fake(withCommands(({ sessionId }) => ({ sessionId: `session/${sessionId}` }))),
  },
  {
    name: 'ids again',
    defect: 'Sessions of different sandboxes have the same ids.',
    caughtBy: ['SES-007'],
    make: () => {
      const counts = new Map<string, number>();
      return fake(
        withCommands(({ handle: { name } }) => {
          const count = (counts.get(name) ?? 0) + 1;
          counts.set(name, count);
          return { sessionId: `s-${count}` };
        }),
      );
    },
  },
  {
    name: 'never detachable',
    defect: 'A session ends with its last reader, whatever was asked.',
    caughtBy: ['SES-001', 'SES-003', 'SES-005', 'SES-008'],
    caughtByRefusal: ['SES-023'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
            return super.doSpawn(handle, { ...request, detachable: false });
          }
        },
      ),
  },
  {
    name: 'takes others along',
    defect: 'A reader that lets go disconnects the others.',
    caughtBy: [],
    caughtByRefusal: ['SES-011', 'ATT-045'],
    make: () => {
      const subject = fake(
        withCommands((command) => ({
          async stop(): Promise<void> {
            await command.stop();
            (subject.adapter as TargetFake).disconnect();
          },
        })),
      );
      return subject;
    },
  },
  {
    name: 'stdin stays with the first',
    defect: 'An attach that asks for stdin does not get it.',
    caughtBy: ['SES-020', 'SES-022'],
    caughtByRefusal: ['SES-023', 'ATT-044'],
    make: () => fake(withAttach((request) => ({ ...request, stdin: false }))),
  },
  {
    name: 'stdin goes to everybody',
    defect: 'An attach that does not ask for stdin gets it.',
    caughtBy: ['SES-021'],
    caughtByRefusal: ['FLT-036', 'ATT-001'],
    make: () => fake(withAttach((request) => ({ ...request, stdin: true }))),
  },
  {
    name: 'stdin ends with its owner',
    defect: 'stdin of a session is closed when its owner lets go.',
    caughtBy: ['SES-008'],
    caughtByRefusal: ['SES-023'],
    make: () =>
      fake(
        withCommands((command) => ({
          async stop(): Promise<void> {
            await command.closeStdin().catch(() => {});
            await command.stop();
          },
        })),
      ),
  },
  {
    name: 'sessions of the house',
    defect: 'A session can be joined from every sandbox.',
    caughtBy: ['ATT-005'],
    make: () =>
      fake(
        class extends TargetFake {
          readonly #homes = new Map<string, SandboxHandle>();
          protected override async doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
            const command = await super.doSpawn(handle, request);
            this.#homes.set(command.sessionId as string, handle);
            return command;
          }
          protected override doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
            return super.doAttach(this.#homes.get(request.sessionId) ?? handle, request);
          }
        },
      ),
  },
];

function plain(id: string): SandboxSession {
  return { id, tty: false };
}

function withList(change: (sessions: SandboxSession[], sandbox: Sandbox) => SandboxSession[]): FakeKind {
  return class extends TargetFake {
    protected override async doListSessions(handle: SandboxHandle, options: CallOptions): Promise<SandboxSession[]> {
      return change(await super.doListSessions(handle, options), this.sandbox(handle));
    }
  };
}
