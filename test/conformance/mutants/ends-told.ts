import { Readable } from 'node:stream';
import { Observable } from 'rxjs';
import { SandboxError, type ExecRequest, type ExecResult, type SandboxFrame, type SandboxHandle } from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake, text, withCalls, withCommands, withSink } from './making.js';
import type { Mutant } from './mutant.js';

export const endTellingMutants: readonly Mutant[] = [
  {
    name: 'frames$ of codes alone',
    defect: 'frames$ tells of an exit its code alone.',
    caughtBy: ['STR-036'],
    make: () =>
      fake(
        withCommands((command) => ({
          frames$: new Observable<SandboxFrame>((subscriber) =>
            command.frames$.subscribe({
              next: (frame) =>
                subscriber.next(frame.type === 'exit' ? { type: 'exit', exitCode: frame.exitCode } : frame),
              error: (error) => subscriber.error(error),
              complete: () => subscriber.complete(),
            }),
          ),
        })),
      ),
  },
  {
    name: 'frames$ complete in any case',
    defect: 'frames$ completes when the transport breaks.',
    caughtBy: ['FLT-057'],
    make: () =>
      fake(
        withCommands((command) => ({
          frames$: new Observable<SandboxFrame>((subscriber) =>
            command.frames$.subscribe({
              next: (frame) => subscriber.next(frame),
              error: () => subscriber.complete(),
              complete: () => subscriber.complete(),
            }),
          ),
        })),
      ),
  },
  {
    name: 'iterators are done in any case',
    defect: 'An iterator is done when the transport breaks.',
    caughtBy: ['FLT-057'],
    make: () =>
      fake(
        withCommands((command) => ({
          [Symbol.asyncIterator]() {
            const frames = command[Symbol.asyncIterator]();
            const done = { done: true as const, value: undefined };
            return { next: () => frames.next().catch(() => done), return: () => frames.return?.() };
          },
        })),
      ),
  },
  {
    name: 'streams end in any case',
    defect: 'A stream ends as if that were all when the transport breaks.',
    caughtBy: ['FLT-057'],
    make: () =>
      fake(
        withCommands((command) => ({
          streams() {
            const { stdout, stderr } = command.streams();
            return { stdout: quiet(stdout), stderr: quiet(stderr) };
          },
        })),
      ),
  },
  {
    name: 'drained in any case',
    defect: 'drain gives an exit when the transport breaks.',
    caughtBy: ['FLT-057'],
    make: () => fake(withCommands((command) => ({ drain: () => command.drain().catch(() => ({ exitCode: 0 })) }))),
  },
  {
    name: 'errors with the last words',
    defect: 'The error of a transport that breaks says what came last.',
    caughtBy: ['ERR-005'],
    make: () =>
      fake(
        withSink((sink) => {
          let last = '';
          return {
            frame(item) {
              if (item.type !== 'exit') last = text(item.data);
              sink.frame(item);
            },
            error: (error) => sink.error(error.with({ message: `${error.message} behind ${last}` })),
          };
        }),
      ),
  },
  {
    name: 'runs it again',
    defect: 'An exec whose transport breaks is run once more.',
    caughtBy: ['FLT-058', 'FLT-059'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            return super.doExec(handle, request).catch((error: SandboxError) => {
              if (error.detail !== 'closed_before_exit') throw error;
              return super.doExec(handle, request);
            });
          }
        },
      ),
  },
  {
    name: 'joins whatever the signal says',
    defect: 'An attach does not hear its signal.',
    caughtBy: ['FLT-060'],
    make: () =>
      fake(
        withCalls(({ operation, args, run }) => {
          if (operation !== 'attach') return run();
          return run(args.map((one) => (isIdle(one) ? { ...one, signal: undefined } : one)));
        }),
      ),
  },
];

/** The same stream, for which an error is an end. */
function quiet(stream: Readable): Readable {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      yield* stream;
    } catch {
      // As if that were all.
    }
  }
  return Readable.from(pieces(), { objectMode: false });
}

function isIdle(options: unknown): options is { signal: AbortSignal } {
  const { signal } = (typeof options === 'object' && options !== null ? options : {}) as { signal?: AbortSignal };
  return signal !== undefined && !signal.aborted;
}
