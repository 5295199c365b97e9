import { Observable } from 'rxjs';
import type { AttachRequest, SandboxCommand, SandboxFrame, SandboxHandle, SpawnRequest } from '#libs/contract';
import { TargetFake, type FakeKind } from '../targets/fake.js';
import { altered, fake, withCommands } from './making.js';
import type { Mutant } from './mutant.js';

export const lettingGoMutants: readonly Mutant[] = [
  {
    name: 'disposal ends the session',
    defect: 'A command that is disposed of takes its session with it.',
    caughtBy: ['SES-017'],
    make: () =>
      fake(
        withSessions((command, end) => ({
          async [Symbol.asyncDispose]() {
            await command.stop();
            await end();
          },
        })),
      ),
  },
  {
    name: 'a subscriber that leaves ends the session',
    defect: 'A subscriber of frames$ that leaves takes the session with it.',
    caughtBy: ['SES-017'],
    make: () =>
      fake(
        withSessions((command, end) => ({
          frames$: new Observable<SandboxFrame>((subscriber) => {
            const subscription = command.frames$.subscribe(subscriber);
            return () => {
              subscription.unsubscribe();
              void end();
            };
          }),
        })),
      ),
  },
  {
    name: 'one stream is both',
    defect: 'Destroying one of the streams lets go of the command.',
    caughtBy: [],
    caughtByRefusal: ['STR-035'],
    make: () =>
      fake(
        withCommands((command) => ({
          streams() {
            const both = command.streams();
            both.stderr.once('close', () => void command.stop());
            return both;
          },
        })),
      ),
  },
  {
    name: 'signals outlive their attach',
    defect: 'The signal of an attach lets go of the command long after it.',
    caughtBy: [],
    caughtByRefusal: ['ATT-012'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
            const command = await super.doAttach(handle, request);
            request.signal?.addEventListener('abort', () => void command.stop());
            return command;
          }
        },
      ),
  },
  {
    name: 'listens as long as it is attached',
    defect: 'The listener on the signal of an attach stays there.',
    caughtBy: [],
    caughtByHanging: ['LIM-024'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
            request.signal?.addEventListener('abort', () => {});
            return super.doAttach(handle, request);
          }
        },
      ),
  },
  {
    name: 'streams that somebody must listen to',
    defect: 'The error of a stream that nobody listens to is one that nobody caught.',
    inNode: true,
    caughtBy: ['STR-037'],
    make: () =>
      fake(
        withCommands((command) => ({
          streams() {
            const both = command.streams();
            for (const stream of Object.values(both)) stream.removeAllListeners('error');
            return both;
          },
        })),
      ),
  },
  {
    name: 'a Writable that somebody must listen to',
    defect: 'The error of the Writable that nobody listens to is one that nobody caught.',
    inNode: true,
    caughtBy: ['STD-023'],
    make: () =>
      fake(
        withCommands((command) => {
          const { stdin } = command;
          return stdin === undefined ? {} : { stdin: stdin.removeAllListeners('error') };
        }),
      ),
  },
];

/** Spawned commands with members of their own, which may end the session. */
function withSessions(change: (command: SandboxCommand, end: () => Promise<void>) => object): FakeKind {
  return class extends TargetFake {
    protected override async doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
      const command = await super.doSpawn(handle, request);
      const session = this.sandbox(handle).session(command.sessionId as string);
      return altered(command, (untouched) => change(untouched, () => session.stop(1_000)));
    }
  };
}
