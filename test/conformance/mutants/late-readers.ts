import { Observable } from 'rxjs';
import type {
  CommandChannel,
  Exit,
  OutputFrame,
  SandboxCommand,
  SandboxFrame,
  SandboxHandle,
  SpawnRequest,
} from '#libs/contract';
import type { SessionSink } from '#libs/protocol';
import { TargetFake, type FakeKind } from '../targets/fake.js';
import { altered, fake, withCommands } from './making.js';
import type { Mutant } from './mutant.js';

export const lateReaderMutants: readonly Mutant[] = [
  {
    name: 'no limit without a reader',
    defect: 'What comes while nobody reads counts as taken when it comes.',
    caughtBy: ['STR-038'],
    make: () => fake(UnreadTaken),
  },
  {
    name: 'late subscribers are told of a good end',
    defect: 'frames$ completes at once for whoever subscribes after the transport broke, or after stop.',
    caughtBy: ['STR-039', 'FLT-061'],
    make: () =>
      fake(
        whenLost((command) => ({
          frames$: new Observable<SandboxFrame>((subscriber) => {
            subscriber.next({ type: 'exit', exitCode: 0 });
            subscriber.complete();
            return () => void command.stop();
          }),
        })),
      ),
  },
  {
    name: 'late subscribers are told nothing',
    defect: 'frames$ stays silent for whoever subscribes after the transport broke, or after stop.',
    caughtBy: ['STR-039', 'FLT-061'],
    make: () => fake(whenLost(() => ({ frames$: new Observable<SandboxFrame>(() => {}) }))),
  },
  {
    name: 'late loops are over',
    defect: 'An iterator that is asked for after the transport broke, or after stop, gives a good end.',
    caughtBy: ['STR-039', 'FLT-061'],
    make: () =>
      fake(
        whenLost(() => ({
          async *[Symbol.asyncIterator](): AsyncGenerator<SandboxFrame> {
            yield { type: 'exit', exitCode: 0 };
          },
        })),
      ),
  },
  {
    name: 'late sinks are done',
    defect: 'forEach that is called after the transport broke, or after stop, gives a good end.',
    caughtBy: ['STR-039', 'FLT-061'],
    make: () => fake(whenLost(() => ({ forEach: async () => ({ exitCode: 0 }) }))),
  },
];

/** Commands that have other members once they have ended without an exit. */
function whenLost(change: (command: SandboxCommand) => object): FakeKind {
  return withCommands((command) => {
    const changed = Object.getOwnPropertyDescriptors(change(command));
    let isLost = false;
    command.exit.catch(() => (isLost = true));
    const late: PropertyDescriptorMap = {};
    for (const key of Reflect.ownKeys(changed) as (keyof SandboxCommand)[]) {
      const { value } = changed[key as keyof typeof changed] as PropertyDescriptor;
      late[key] = { get: () => (isLost ? (value as unknown) : command[key]) };
    }
    return Object.defineProperties({}, late);
  });
}

/** How one command is read. */
interface Unread {
  isRead: boolean;
  taken?: (bytes: number) => void;
}

class UnreadTaken extends TargetFake {
  #last: Unread = { isRead: false };

  protected override sink(sink: SessionSink): SessionSink {
    const state: Unread = { isRead: false };
    this.#last = state;
    return super.sink({
      frame(item) {
        sink.frame(item);
        if (item.type !== 'exit' && !state.isRead) setImmediate(() => state.taken?.(item.data.byteLength));
      },
      error: (error) => sink.error(error),
    });
  }

  /** The way back of the command whose output was the last to get its way here. */
  protected override channel(channel: CommandChannel): CommandChannel {
    this.#last.taken = (bytes) => channel.taken(bytes);
    return super.channel(channel);
  }

  protected override async doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
    const command = await super.doSpawn(handle, request);
    const state = this.#last;
    return altered(command, (untouched) => ({
      forEach(sink: (frame: OutputFrame) => void | PromiseLike<void>): Promise<Exit> {
        state.isRead = true;
        return untouched.forEach(sink);
      },
    }));
  }
}
