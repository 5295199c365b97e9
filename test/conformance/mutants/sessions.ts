import {
  SandboxError,
  type AttachRequest,
  type CallOptions,
  type SandboxCommand,
  type SandboxHandle,
  type SandboxSession,
  type SpawnRequest,
  type TerminateRequest,
} from '#libs/contract';
import type { SessionSink } from '#libs/protocol';
import { TargetFake, type FakeKind } from '../targets/fake.js';
import { altered, fake, withCalls, withCommands } from './making.js';
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

export const replayMutants: readonly Mutant[] = [
  {
    name: 'no replay',
    defect: 'An attach begins with what comes from then on.',
    caughtBy: ['ATT-002', 'ATT-009', 'SES-009', 'FLT-010', 'FLT-006', 'FLT-007'],
    caughtByHanging: ['ATT-001'],
    make: () => fake(withAttach((request) => ({ ...request, from: 'now' }))),
  },
  {
    name: 'from the next byte',
    defect: 'A replay leaves out the byte that it should begin with.',
    caughtBy: ['ATT-020', 'ATT-021', 'FLT-006', 'FLT-007', 'FLT-010'],
    caughtByRefusal: ['ATT-022', 'FLT-008'],
    make: () =>
      fake(
        withAttach(({ from, ...request }) => ({
          ...request,
          from: from === 'now' ? from : { ...from, stdout: from.stdout + 1 },
        })),
      ),
  },
  {
    name: 'the first byte lost',
    defect: 'The first byte that an attach should be given does not come.',
    caughtBy: ['ATT-001', 'ATT-020', 'ATT-025', 'ATT-040', 'ATT-041', 'ATT-042', 'ATT-043', 'ATT-044'],
    make: () => fake(FirstByteLost),
  },
  {
    name: 'always from the beginning',
    defect: 'An attach begins at the first byte, whatever was asked.',
    caughtBy: ['ATT-020', 'ATT-021', 'ATT-022', 'ATT-023', 'ATT-024', 'ATT-025', 'ATT-026', 'ATT-041', 'FLT-008'],
    make: () => fake(withAttach((request) => ({ ...request, from: { stdout: 0, stderr: 0 } }))),
  },
  {
    name: 'streams confused',
    defect: 'The offset of stdout is taken for that of stderr.',
    caughtBy: ['ATT-020', 'ATT-021'],
    make: () =>
      fake(
        withAttach(({ from, ...request }) => ({
          ...request,
          from: from === 'now' ? from : { stdout: from.stderr, stderr: from.stderr },
        })),
      ),
  },
  {
    name: 'beyond the end is the end',
    defect: 'An attach beyond the end of the output begins at its end.',
    caughtBy: ['ATT-023', 'ATT-024'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
            return super
              .doAttach(handle, request)
              .catch((error: SandboxError) =>
                error.detail === 'offset_beyond_end'
                  ? super.doAttach(handle, { ...request, from: 'now' })
                  : Promise.reject(error),
              );
          }
        },
      ),
  },
  {
    name: 'offsets of any kind',
    defect: 'Offsets that are none are taken for the beginning.',
    caughtBy: ['ATT-027'],
    make: () =>
      fake(
        withCalls(({ operation, args: [handle, id, options], run }) => {
          const isOdd = operation === 'attach' && (options as { from?: unknown } | undefined)?.from !== undefined;
          return run(isOdd ? [handle, id, { ...(options as object), from: undefined }] : [handle, id, options]);
        }),
      ),
  },
  {
    name: 'ended is gone',
    defect: 'A session that has ended cannot be joined.',
    caughtBy: [],
    caughtByRefusal: ['ATT-002', 'ATT-004', 'ATT-009', 'SES-009', 'TER-008', 'FLT-010'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
            if (this.sandbox(handle).session(request.sessionId).end !== undefined) throw new SandboxError('not_found');
            return super.doAttach(handle, request);
          }
        },
      ),
  },
  {
    name: 'joined without a name',
    defect: 'An attached command does not tell its session.',
    caughtBy: ['ATT-003'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
            return altered(await super.doAttach(handle, request), () => ({ sessionId: undefined }));
          }
        },
      ),
  },
  {
    name: 'signals not replayed',
    defect: 'The exit of an ended session is replayed without its signal.',
    caughtBy: ['ATT-004'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
            return altered(await super.doAttach(handle, request), (command) => ({
              forEach: async (sink: Parameters<SandboxCommand['forEach']>[0]) => {
                const { exitCode } = await command.forEach(sink);
                return { exitCode };
              },
            }));
          }
        },
      ),
  },
  {
    name: 'joins nothing',
    defect: 'An attach to a session that is not there gives a command that has ended well.',
    caughtBy: ['ATT-005', 'ATT-006', 'SES-013', 'SES-014'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
            return super.doAttach(handle, request).catch(async (error: SandboxError) => {
              if (error.code !== 'not_found') throw error;
              const elsewhere = await super.doCreate(`empty-${handle.name}`);
              const nothing = { cmd: 'exit:0', args: [], env: [], stdin: request.stdin, detachable: false };
              return super.doSpawn(elsewhere, nothing);
            });
          }
        },
      ),
  },
  {
    name: 'ids of any kind',
    defect: 'An id that is none is one that does not exist.',
    caughtBy: ['ATT-007', 'TER-010'],
    make: () =>
      fake(
        withCalls(({ operation, args: [handle, id, ...rest], run }) => {
          const isOdd = typeof id !== 'string' || !/^[\w-]{1,256}$/.test(id);
          const takesId = operation === 'attach' || operation === 'terminateSession';
          return run([handle, takesId && isOdd ? 'no-such-session' : id, ...rest]);
        }),
      ),
  },
];

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
    caughtBy: ['TER-017', 'TER-018'],
    make: () => fake(withTermination((_, request, terminate) => terminate(request).catch(() => {}))),
  },
];

/** Of what an attach delivers the first byte is cut off. */
class FirstByteLost extends TargetFake {
  #isJoining = false;

  protected override doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
    this.#isJoining = true;
    const joining = super.doAttach(handle, request);
    this.#isJoining = false;
    return joining;
  }

  protected override sink(sink: SessionSink): SessionSink {
    let isCut = !this.#isJoining;
    return super.sink({
      frame(item) {
        if (item.type === 'exit' || isCut) return sink.frame(item);
        isCut = true;
        sink.frame({ ...item, offset: item.offset + 1, data: item.data.subarray(1) });
      },
      error: (error) => sink.error(error),
    });
  }
}

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

function withAttach(change: (request: AttachRequest) => AttachRequest): FakeKind {
  return class extends TargetFake {
    protected override doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
      return super.doAttach(handle, change(request));
    }
  };
}

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
