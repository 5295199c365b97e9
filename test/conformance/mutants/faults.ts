import { SandboxError, type CallOptions } from '#libs/contract';
import { fake, withCalls, type Call } from './making.js';
import type { Mutant } from './mutant.js';

const isFailure = (error: unknown): error is SandboxError =>
  error instanceof SandboxError && error.code === 'unavailable' && error.detail === undefined;

export const callFaultMutants: readonly Mutant[] = [
  {
    name: 'nothing happened to what was lost',
    defect: 'A call whose answer was lost claims to have done nothing.',
    caughtBy: ['FLT-021', 'FLT-023', 'FLT-026', 'FLT-028', 'FLT-030', 'FLT-032', 'FLT-037', 'TER-017'],
    make: () =>
      fake(
        withFailures((_, error) => {
          throw error.with({ effect: 'none' });
        }),
      ),
  },
  {
    name: 'failures swallowed',
    defect: 'A call that failed has succeeded.',
    caughtBy: [
      'FLT-020',
      'FLT-022',
      'FLT-023',
      'FLT-025',
      'FLT-027',
      'FLT-028',
      'FLT-029',
      'FLT-031',
      'FLT-063',
      'TER-018',
    ],
    make: () => fake(withFailures(async () => {})),
  },
  {
    name: 'tries again',
    defect: 'A call that failed is made once more, whatever it does.',
    caughtBy: ['FLT-022', 'FLT-023', 'FLT-027', 'FLT-028', 'FLT-029', 'FLT-030', 'TER-018'],
    make: () => fake(withFailures(({ run }) => run())),
  },
  {
    name: 'failed is missing',
    defect: 'What could not be told is told as not there.',
    caughtBy: ['FLT-020', 'FLT-024', 'FLT-025', 'FLT-033', 'FLT-034', 'FLT-035', 'FLT-036', 'FLT-062'],
    make: () =>
      fake(
        withFailures(() => {
          throw new SandboxError('not_found', { effect: 'none' });
        }),
      ),
  },
  {
    name: 'failed is empty',
    defect: 'A list that could not be had is one without entries.',
    caughtBy: ['FLT-033', 'FLT-034', 'FLT-035', 'FLT-062'],
    make: () =>
      fake(
        withFailures(async ({ operation }, error) => {
          if (operation.startsWith('list')) return [];
          throw error;
        }),
      ),
  },
  {
    name: 'fails and does it',
    defect: 'A call that was refused is carried out in the background.',
    caughtBy: ['FLT-020', 'FLT-022', 'FLT-025', 'FLT-027', 'FLT-029', 'FLT-031', 'TER-018'],
    make: () =>
      fake(
        withFailures(async ({ run }, error) => {
          await run();
          throw error;
        }),
      ),
  },
  {
    name: 'no deadline without an answer',
    defect: 'The deadline of an exec begins when the provider has answered.',
    caughtBy: ['FLT-050'],
    make: () =>
      fake(
        withCalls(async ({ operation, args, adapter, run }) => {
          const options = args[3] as CallOptions | undefined;
          if (operation === 'exec' && options) await adapter.listAllNames();
          return run();
        }),
      ),
  },
  {
    name: 'aborted and carried out',
    defect: 'A call that is aborted on its way claims to have done nothing, and is carried out.',
    caughtBy: ['FLT-055'],
    make: () => fake(withCalls(givingUp)),
  },
  {
    name: 'no word of when',
    defect: 'The error of calls that come too often does not say when to try again.',
    caughtBy: ['FLT-038'],
    make: () =>
      fake(
        withCalls(async ({ run }) => {
          try {
            return await run();
          } catch (error) {
            if (!(error instanceof SandboxError) || error.code !== 'rate_limited') throw error;
            const { code, effect } = error;
            throw new SandboxError(code, { effect });
          }
        }),
      ),
  },
];

/** Makes the call without its signal, and stops waiting for it when that fires. */
function givingUp({ args, run }: Call): unknown {
  const { signal, ...options } = (args.at(-1) ?? {}) as CallOptions;
  if (!(signal instanceof AbortSignal)) return run();
  const result = run([...args.slice(0, -1), options]);
  result.catch(() => {});
  const aborted = new Promise<never>((_, reject) => {
    const give = (): void => reject(new SandboxError('aborted', { effect: 'none', cause: signal.reason }));
    signal.addEventListener('abort', give, { once: true });
  });
  return Promise.race([result, aborted]);
}

/** What becomes of calls that failed in passing. */
function withFailures(change: (call: Call, error: SandboxError) => unknown): ReturnType<typeof withCalls> {
  return withCalls(async (call) => {
    try {
      return await call.run();
    } catch (error) {
      if (!isFailure(error)) throw error;
      return await change(call, error);
    }
  });
}
