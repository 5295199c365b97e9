import {
  SandboxError,
  type AttachRequest,
  type CommandChannel,
  type SandboxCommand,
  type SandboxHandle,
} from '#libs/contract';
import type { SessionSink } from '#libs/protocol';
import { TargetFake } from '../targets/fake.js';
import { altered, fake, withAttach, withCalls } from './making.js';
import type { Mutant } from './mutant.js';

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
    defect: 'The exit of an ended session is replayed as a code alone, without its signal or start error.',
    caughtBy: ['ATT-004', 'ATT-011'],
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
  {
    name: 'the end is beyond the end',
    defect: 'An attach at the end of what a running session has written is refused.',
    caughtBy: [],
    caughtByRefusal: ['ATT-029'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
            const { end, output } = this.sandbox(handle).session(request.sessionId);
            const { from } = request;
            if (from !== 'now' && end === undefined && from.stdout > 0 && from.stdout === output.journal.offsets.stdout)
              throw new SandboxError('invalid', { detail: 'offset_beyond_end' });
            return super.doAttach(handle, request);
          }
        },
      ),
  },
  {
    name: 'now for stdout alone',
    defect: 'An attach from `now` to a running session replays its stderr.',
    caughtBy: ['ATT-025'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
            const { end, output, tty } = this.sandbox(handle).session(request.sessionId);
            if (request.from !== 'now' || end !== undefined || tty) return super.doAttach(handle, request);
            return super.doAttach(handle, { ...request, from: { ...output.journal.offsets, stderr: 0 } });
          }
        },
      ),
  },
  {
    name: 'counts no replay',
    defect: 'outputBytes of an attached command does not count what was replayed.',
    caughtBy: ['ATT-009'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
            return altered(await super.doAttach(handle, request), () => ({ outputBytes: 0 }));
          }
        },
      ),
  },
  {
    name: 'replays at once',
    defect: 'What a replay delivers counts as taken when it comes.',
    caughtBy: ['ATT-013'],
    make: () => fake(ReplayTaken),
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

/** Takes what an attach delivers at once, in the place of its reader. */
class ReplayTaken extends TargetFake {
  #isJoining = false;
  #way: { early: number; taken?: (bytes: number) => void } = { early: 0 };

  protected override doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
    this.#isJoining = true;
    const joining = super.doAttach(handle, request);
    this.#isJoining = false;
    return joining;
  }

  protected override sink(sink: SessionSink): SessionSink {
    if (!this.#isJoining) return super.sink(sink);
    const way: { early: number; taken?: (bytes: number) => void } = { early: 0 };
    this.#way = way;
    return super.sink({
      frame(item) {
        sink.frame(item);
        if (item.type === 'exit') return;
        if (way.taken === undefined) way.early += item.data.byteLength;
        else way.taken(item.data.byteLength);
      },
      error: (error) => sink.error(error),
    });
  }

  protected override channel(channel: CommandChannel): CommandChannel {
    if (!this.#isJoining) return super.channel(channel);
    const way = this.#way;
    way.taken = channel.taken.bind(channel);
    way.taken(way.early);
    return super.channel(Object.assign(channel, { taken: () => {} }));
  }
}
