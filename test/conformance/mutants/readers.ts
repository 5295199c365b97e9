import { Observable } from 'rxjs';
import { SandboxError, type Exit, type SandboxCommand, type SandboxFrame } from '#libs/contract';
import { fake, never, withCommands } from './making.js';
import type { Mutant } from './mutant.js';

type Sink = Parameters<SandboxCommand['forEach']>[0];

export const readerMutants: readonly Mutant[] = [
  {
    name: 'early output lost',
    defect: 'What came before there was a reader is not delivered.',
    caughtBy: ['STR-012'],
    caughtByHanging: ['STR-011'],
    make: () =>
      fake(
        withCommands((command) => ({
          forEach(sink: Sink): Promise<Exit> {
            const { outputBytes } = command;
            return command.forEach((frame) => (frame.offset < outputBytes ? undefined : sink(frame)));
          },
        })),
      ),
  },
  {
    name: 'no exit without a reader',
    defect: '`exit` settles only for those who read.',
    caughtBy: ['STR-012'],
    caughtByHanging: ['STR-018'],
    make: () =>
      fake(
        withCommands((command) => {
          let isRead = false;
          return {
            forEach(sink: Sink): Promise<Exit> {
              isRead = true;
              return command.forEach(sink);
            },
            get exit(): Promise<Exit> {
              return isRead ? command.exit : never();
            },
          };
        }),
      ),
  },
  {
    name: 'one reference for all',
    defect: 'Every command has the same reference.',
    caughtBy: ['STR-013'],
    make: () => fake(withCommands(() => ({ ref: 'command' }))),
  },
  {
    name: 'does not wait for the sink',
    defect: 'forEach goes on before its sink has done with a frame.',
    caughtBy: ['STR-014', 'STR-029'],
    make: () =>
      fake(
        withCommands((command) => ({
          forEach: (sink: Sink): Promise<Exit> => command.forEach((frame) => void sink(frame)),
        })),
      ),
  },
  {
    name: 'iterators read ahead',
    defect: 'An iterator takes all that comes, asked or not.',
    caughtBy: ['STR-016'],
    make: () =>
      fake(
        withCommands((command) => ({
          [Symbol.asyncIterator](): AsyncIterator<SandboxFrame, undefined> {
            const frames: SandboxFrame[] = [];
            command.forEach((frame) => void frames.push(frame)).catch(() => {});
            const next = async (): Promise<IteratorResult<SandboxFrame, undefined>> => {
              while (frames.length === 0) await new Promise(setImmediate);
              return { done: false, value: frames.shift() as SandboxFrame };
            };
            return { next };
          },
        })),
      ),
  },
  {
    name: 'two exits',
    defect: 'frames$ tells the exit twice.',
    caughtBy: ['STR-017', 'FLT-013'],
    make: () =>
      fake(
        withFrames$(
          (original) => (subscriber) =>
            original.subscribe({
              next(frame) {
                subscriber.next(frame);
                if (frame.type === 'exit') subscriber.next(frame);
              },
              error: (error) => subscriber.error(error),
              complete: () => subscriber.complete(),
            }),
        ),
      ),
  },
  {
    name: 'never completes',
    defect: 'frames$ does not complete behind the exit.',
    caughtBy: [],
    caughtByHanging: ['STR-017'],
    make: () =>
      fake(
        withFrames$(
          (original) => (subscriber) =>
            original.subscribe({ next: (frame) => subscriber.next(frame), error: (error) => subscriber.error(error) }),
        ),
      ),
  },
  {
    name: 'delivers while it is subscribed to',
    defect: 'frames$ gives what is there before subscribe has returned.',
    caughtBy: ['STR-018'],
    make: () =>
      fake(
        withCommands((command) => {
          const frames: SandboxFrame[] = [];
          const reading = command.forEach((frame) => void frames.push(frame));
          return {
            frames$: new Observable<SandboxFrame>((subscriber) => {
              for (const frame of frames) subscriber.next(frame);
              void reading.then(() => subscriber.complete());
            }),
          };
        }),
      ),
  },
  {
    name: 'iterators without stderr',
    defect: 'An iterator gives stdout and the exit only.',
    caughtBy: ['STR-019'],
    make: () =>
      fake(
        withCommands((command) => ({
          async *[Symbol.asyncIterator](): AsyncGenerator<SandboxFrame> {
            for await (const frame of command) if (frame.type !== 'stderr') yield frame;
          },
        })),
      ),
  },
  {
    name: 'readers share',
    defect: 'A second reader is let in, and gets nothing.',
    caughtBy: ['STR-020'],
    make: () =>
      fake(
        withCommands((command) => ({
          forEach: (sink: Sink): Promise<Exit> =>
            command.forEach(sink).catch((error: SandboxError) => {
              if (error.detail === 'already_consumed') return { exitCode: 0 };
              throw error;
            }),
        })),
      ),
  },
  {
    name: 'a second reader waits',
    defect: 'A second reader is neither served nor refused.',
    caughtBy: ['STR-020'],
    make: () => {
      const once = (command: SandboxCommand): object => {
        let isRead = false;
        return {
          drain: () => (isRead ? new Promise<Exit>(() => {}) : command.drain()),
          forEach(sink: Sink): Promise<Exit> {
            if (isRead) return new Promise(() => {});
            isRead = true;
            return command.forEach(sink);
          },
        };
      };
      return fake(withCommands(once));
    },
  },
  {
    name: 'unsubscribing does nothing',
    defect: 'A subscriber of frames$ that leaves goes on holding the command.',
    caughtBy: ['STR-021'],
    make: () =>
      fake(
        withFrames$((original) => (subscriber) => {
          original.subscribe({ next: (frame) => subscriber.next(frame), error: (error) => subscriber.error(error) });
        }),
      ),
  },
  {
    name: 'leaving a loop does nothing',
    defect: 'A loop that is left early goes on holding the command.',
    caughtBy: ['STR-022'],
    make: () =>
      fake(
        withCommands((command) => ({
          [Symbol.asyncIterator](): AsyncIterator<SandboxFrame, undefined> {
            const frames = command[Symbol.asyncIterator]();
            return { next: () => frames.next() };
          },
        })),
      ),
  },
  {
    name: 'destroying streams does nothing',
    defect: 'Streams that are destroyed go on holding the command.',
    caughtBy: ['STR-023'],
    make: () =>
      fake(
        withCommands((command) => ({
          streams(): ReturnType<SandboxCommand['streams']> {
            const { stdout, stderr } = command.streams();
            for (const stream of [stdout, stderr]) stream.destroy = () => stream;
            return { stdout, stderr };
          },
        })),
      ),
  },
  {
    name: 'errors of sinks wrapped',
    defect: 'The error of a sink reaches the caller as one of the provider.',
    caughtBy: ['STR-024'],
    make: () =>
      fake(
        withCommands((command) => ({
          forEach: (sink: Sink): Promise<Exit> =>
            command.forEach(sink).catch((cause: unknown) => {
              throw cause instanceof SandboxError ? cause : new SandboxError('provider', { cause });
            }),
        })),
      ),
  },
  {
    name: 'stops once',
    defect: 'A second stop is refused.',
    caughtBy: [],
    caughtByRefusal: ['STR-025', 'STR-026'],
    make: () =>
      fake(
        withCommands((command) => {
          let isStopped = false;
          const stop = (): Promise<void> => {
            if (isStopped) return Promise.reject(new SandboxError('invalid'));
            isStopped = true;
            return command.stop();
          };
          return { stop, [Symbol.asyncDispose]: stop };
        }),
      ),
  },
  {
    name: 'stop makes an exit',
    defect: 'A command that was let go of is told as one that ended well.',
    caughtBy: ['STR-021', 'STR-022', 'STR-023', 'STR-024', 'STR-025'],
    make: () =>
      fake(
        withCommands((command) => ({
          get exit(): Promise<Exit> {
            return command.exit.catch(() => ({ exitCode: 0 }));
          },
        })),
      ),
  },
  {
    name: 'stop replaces the exit',
    defect: 'After stop the exit is that of a killed command, whatever was measured.',
    caughtBy: ['STR-026'],
    make: () =>
      fake(
        withCommands((command) => {
          let isStopped = false;
          const stop = (): Promise<void> => {
            isStopped = true;
            return command.stop();
          };
          return {
            stop,
            [Symbol.asyncDispose]: stop,
            get exit(): Promise<Exit> {
              return isStopped ? Promise.resolve({ exitCode: 143 }) : command.exit;
            },
          };
        }),
      ),
  },
  {
    name: 'exits that somebody must await',
    defect: 'An `exit` that rejects and that nobody looks at is an unhandled rejection.',
    caughtBy: ['STR-027'],
    inNode: true,
    make: () =>
      fake(
        withCommands((command) => ({
          get exit(): Promise<Exit> {
            return command.exit.then((exit) => exit);
          },
        })),
      ),
  },
  {
    name: 'a sink of any kind',
    defect: 'A sink that is no function is taken for one that wants nothing.',
    caughtBy: ['STR-028'],
    make: () =>
      fake(
        withCommands((command) => ({
          forEach: (sink: unknown): Promise<Exit> =>
            command.forEach(typeof sink === 'function' ? (sink as Sink) : () => {}),
        })),
      ),
  },
  {
    name: 'stop asks first',
    defect: 'stop lets go when the provider has answered.',
    caughtBy: ['FLT-053'],
    make: () => {
      const subject = fake(
        withCommands((command) => ({
          stop: async (): Promise<void> => {
            await subject.adapter.get(command.handle);
            await command.stop();
          },
        })),
      );
      return subject;
    },
  },
];

type Subscribe = ConstructorParameters<typeof Observable<SandboxFrame>>[0];

function withFrames$(change: (original: Observable<SandboxFrame>) => Subscribe): ReturnType<typeof withCommands> {
  return withCommands((command) => ({
    get frames$(): Observable<SandboxFrame> {
      return new Observable(change(command.frames$));
    },
  }));
}
