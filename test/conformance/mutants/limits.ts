import {
  ByteCollector,
  SandboxError,
  collectBytes,
  execResult,
  type ExecRequest,
  type ExecResult,
  type SandboxHandle,
} from '#libs/contract';
import type { SessionSink } from '#libs/protocol';
import { fakePrograms } from '../targets/fake-words.js';
import { TargetFake } from '../targets/fake.js';
import { fake, never, withCalls, withExecRequests, withExecResults } from './making.js';
import type { Mutant } from './mutant.js';

/** How long a process that escaped looks for its trigger. */
const ESCAPED_MS = 6_000;

export const limitMutants: readonly Mutant[] = [
  {
    name: 'no deadline',
    defect: 'An exec runs as long as it likes.',
    caughtBy: ['LIM-001', 'LIM-002', 'LIM-005'],
    caughtByHanging: ['LIM-006'],
    make: () => fake(withExecRequests(() => ({ timeoutMs: undefined }))),
  },
  {
    name: 'a deadline in words only',
    defect: 'At its deadline an exec is said to be over, and the command runs on.',
    caughtBy: ['LIM-001', 'LIM-002'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const { timeoutMs, ...unlimited } = request;
            const result = super.doExec(handle, unlimited);
            result.catch(() => {});
            if (timeoutMs === undefined) return result;
            const late = new Promise<never>((_, reject) => {
              const error = new SandboxError('unavailable', { detail: 'timeout', effect: 'done' });
              setTimeout(() => reject(error), timeoutMs).unref();
            });
            late.catch(() => {});
            return Promise.race([result, late]);
          }
        },
      ),
  },
  {
    name: 'kills the leader only',
    defect: 'What is stopped leaves its children behind, who go on.',
    caughtBy: ['LIM-001', 'LIM-002', 'TER-002', 'TER-004', 'TER-006', 'TER-013'],
    make: () =>
      fake(TargetFake, {
        programs: {
          ...fakePrograms,
          family(process) {
            const [trigger, mark] = process.args as [string, string];
            const escaped = setInterval(() => {
              if (process.files.list().includes(trigger)) process.files.write(mark, '');
            }, 5).unref();
            setTimeout(() => clearInterval(escaped), ESCAPED_MS).unref();
            const deaf = process.args[2] === 'true';
            return (fakePrograms[deaf ? 'stayThroughTerm' : 'stay'] as (one: typeof process) => Promise<number>)(
              process,
            );
          },
        },
      }),
  },
  {
    name: 'waits out the deadline',
    defect: 'An exec with a deadline answers when that has passed.',
    caughtBy: ['LIM-003'],
    caughtByHanging: ['LIM-004'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const passed = new Promise((resolve) => setTimeout(resolve, request.timeoutMs ?? 0).unref());
            const result = await super.doExec(handle, request);
            await passed;
            return result;
          }
        },
      ),
  },
  {
    name: 'deadlines guessed',
    defect: 'An exit code as of a killed command is told as a deadline that has passed.',
    caughtBy: [],
    caughtByRefusal: ['LIM-004'],
    make: () =>
      fake(
        withExecResults((result, { timeoutMs }) => {
          if (timeoutMs === undefined || ![124, 137, 143].includes(result.exitCode)) return result;
          throw new SandboxError('unavailable', { detail: 'timeout', effect: 'done' });
        }),
      ),
  },
  {
    name: 'stdin first',
    defect: 'An exec begins, and its deadline with it, when all of its stdin is there.',
    caughtBy: ['LIM-005'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            if (request.stdin === undefined) return super.doExec(handle, request);
            return super.doExec(handle, { ...request, stdin: await collectBytes(request.stdin, Infinity) });
          }
        },
      ),
  },
  {
    name: 'stops the neighbours',
    defect: 'A command that is stopped takes every other of its sandbox with it.',
    caughtBy: [],
    caughtByHanging: ['LIM-006', 'LIM-014'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            return super.doExec(handle, request).catch(async (error: SandboxError) => {
              if (error.code === 'aborted' || error.detail === 'timeout') await this.sandbox(handle).stopAll();
              throw error;
            });
          }
        },
      ),
  },
  {
    name: 'cut at the limit',
    defect: 'An output beyond its limit is cut, and the exec succeeds.',
    caughtBy: ['LIM-007', 'LIM-009', 'LIM-011', 'LIM-016'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const { output, ...result } = await super.doExec(handle, { ...request, maxOutputBytes: Infinity });
            return execResult({ ...result, output: output.subarray(0, request.maxOutputBytes) });
          }
        },
      ),
  },
  {
    name: 'one byte more',
    defect: 'The limit of output lets one byte more pass.',
    caughtBy: ['LIM-007', 'LIM-009', 'LIM-011'],
    make: () => fake(withExecRequests(({ maxOutputBytes }) => ({ maxOutputBytes: maxOutputBytes + 1 }))),
  },
  {
    name: 'one byte less',
    defect: 'An output of exactly its limit is refused.',
    caughtBy: [],
    caughtByRefusal: ['LIM-008', 'LIM-009', 'LIM-011'],
    make: () => fake(withExecRequests(({ maxOutputBytes }) => ({ maxOutputBytes: maxOutputBytes - 1 }))),
  },
  {
    name: 'stdout counts alone',
    defect: 'The limit of output is held by each stream alone.',
    caughtBy: ['LIM-009'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const result = await super.doExec(handle, { ...request, maxOutputBytes: Infinity });
            if (result.output.byteLength <= request.maxOutputBytes) return result;
            throw new SandboxError('truncated', { detail: 'output_limit', effect: 'done' });
          }
        },
      ),
  },
  {
    name: 'stands still at the limit',
    defect: 'At its limit of output a command is read no more, and waited for.',
    caughtBy: ['LIM-010'],
    caughtByHanging: ['LIM-007'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const { cmd, args, env, maxOutputBytes } = request;
            const command = await super.doSpawn(handle, { cmd, args, env, stdin: false, detachable: false });
            let bytes = 0;
            const exit = await command.forEach(({ data }) => {
              bytes += data.byteLength;
              return bytes > maxOutputBytes ? never<void>() : undefined;
            });
            return execResult({ ...exit, output: Buffer.alloc(bytes) });
          }
        },
      ),
  },
  {
    name: 'another limit unless told otherwise',
    defect: 'An exec without a limit takes twice as much.',
    caughtBy: ['LIM-011'],
    make: () =>
      fake(withExecRequests(({ maxOutputBytes }) => (maxOutputBytes === 2 ** 24 ? { maxOutputBytes: 2 ** 25 } : {}))),
  },
  {
    name: 'signals ignored',
    defect: 'A signal that fires during a call is not heard.',
    caughtBy: ['LIM-013', 'TER-016', 'FLT-051', 'FLT-052'],
    caughtByHanging: ['LIM-014', 'EXE-016'],
    make: () =>
      fake(
        withCalls(({ args, run }) => {
          const isIdle = (one: unknown): boolean =>
            typeof one === 'object' &&
            one !== null &&
            'signal' in one &&
            !(one as { signal: AbortSignal }).signal.aborted;
          return run(args.map((one) => (isIdle(one) ? { ...(one as object), signal: undefined } : one)));
        }),
      ),
  },
  {
    name: 'nothing happened, it says',
    defect: 'A call that is aborted while it runs claims to have done nothing.',
    caughtBy: ['LIM-013', 'TER-016'],
    make: () =>
      fake(
        withCalls(async ({ run }) => {
          try {
            return await run();
          } catch (error) {
            if (error instanceof SandboxError && error.code === 'aborted') throw error.with({ effect: 'none' });
            throw error;
          }
        }),
      ),
  },
  {
    name: 'signals outlive their call',
    defect: 'The signal of a spawn stops the command long after it.',
    caughtBy: [],
    caughtByRefusal: ['LIM-015'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doSpawn(
            ...[handle, request]: Parameters<TargetFake['doSpawn']>
          ): ReturnType<TargetFake['doSpawn']> {
            const command = await super.doSpawn(handle, request);
            request.signal?.addEventListener('abort', () => void command.stop());
            return command;
          }
        },
      ),
  },
  {
    name: 'limits stick',
    defect: 'The limit of output of a command holds for the next as well.',
    caughtBy: [],
    caughtByRefusal: ['LIM-016'],
    make: () => {
      let least = Infinity;
      return fake(
        withExecRequests(({ maxOutputBytes }) => {
          least = Math.min(least, maxOutputBytes);
          return { maxOutputBytes: least };
        }),
      );
    },
  },
  {
    name: 'stopped at the limit, it says',
    defect: 'At its limit of output a command is said to be stopped, and runs on.',
    caughtBy: ['LIM-017'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const { cmd, args, env, maxOutputBytes } = request;
            const command = await super.doSpawn(handle, { cmd, args, env, stdin: false, detachable: true });
            const output = new ByteCollector(maxOutputBytes);
            const exit = await command.forEach(({ data }) => {
              if (output.length + data.byteLength > maxOutputBytes) throw beyondLimit();
              output.append(data);
            });
            return execResult({ ...exit, output: output.bytes() });
          }
        },
      ),
  },
  {
    name: 'stopped by the abort, it says',
    defect: 'A command whose exec is aborted is said to be stopped, and runs on.',
    caughtBy: ['LIM-017'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const { signal, ...unheard } = request;
            const result = super.doExec(handle, unheard);
            result.catch(() => {});
            if (signal === undefined) return result;
            const aborted = new Promise<never>((_, reject) => {
              const give = (): void => reject(new SandboxError('aborted', { effect: 'done', cause: signal.reason }));
              signal.addEventListener('abort', give, { once: true });
            });
            return Promise.race([result, aborted]);
          }
        },
      ),
  },
  {
    name: 'characters for bytes',
    defect: 'The limit of output is held in characters.',
    caughtBy: ['LIM-022'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const result = await super.doExec(handle, { ...request, maxOutputBytes: Infinity });
            if (result.text().length <= request.maxOutputBytes) return result;
            throw beyondLimit();
          }
        },
      ),
  },
  {
    name: 'goes on behind its limit',
    defect: 'At its limit of output a command is let go of, and nothing is claimed.',
    caughtBy: ['LIM-023'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const { cmd, args, env, maxOutputBytes } = request;
            const command = await super.doSpawn(handle, { cmd, args, env, stdin: false, detachable: true });
            const exit = await command.forEach(({ offset, data }) => {
              if (offset + data.byteLength > maxOutputBytes) throw beyondLimit().with({ effect: 'unknown' });
            });
            return execResult({ ...exit, output: Buffer.of() });
          }
        },
      ),
  },
  {
    name: 'a deadline from the first byte',
    defect: 'The deadline of an exec begins when its output does.',
    caughtBy: ['LIM-025'],
    make: () => fake(FromTheFirstByte),
  },
];

function beyondLimit(): SandboxError {
  return new SandboxError('truncated', { detail: 'output_limit', effect: 'done' });
}

class FromTheFirstByte extends TargetFake {
  #begin = (): void => {};

  protected override sink(sink: SessionSink): SessionSink {
    const begin = this.#begin;
    return super.sink({
      frame(item) {
        begin();
        sink.frame(item);
      },
      error: (error) => sink.error(error),
    });
  }

  protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
    const { timeoutMs, ...unlimited } = request;
    if (timeoutMs === undefined || request.signal !== undefined) return super.doExec(handle, request);
    const over = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    this.#begin = () => void (timer ??= setTimeout(() => over.abort(), timeoutMs));
    try {
      return await super.doExec(handle, { ...unlimited, signal: over.signal });
    } catch (error) {
      if (!over.signal.aborted) throw error;
      throw new SandboxError('unavailable', { detail: 'timeout', effect: 'done' });
    } finally {
      clearTimeout(timer);
      this.#begin = () => {};
    }
  }
}
