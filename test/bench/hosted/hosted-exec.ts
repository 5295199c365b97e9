import { scaled, type Benchmark } from '../benchmark.js';
import type { HostedProvider } from './provider.js';
import { figureOf, sideBySide } from './side-by-side.js';

const ROUNDS = 9;
const EXECS = 20;

/** `exec` of a command that prints nothing. */
export function hostedExec(provider: HostedProvider): Benchmark {
  return {
    name: `${provider.name}-exec`,
    what: '`exec true` through the adapter, on the emulator in a process of its own',
    target: 'p50 ≤ 1.1 × a client by hand with the same calls and the same shim',
    async run(context) {
      const pairs = scaled(context, EXECS);
      const rounds = await sideBySide(
        context,
        provider,
        { rounds: ROUNDS, pairs },
        {
          ours: (adapter, handle) => timed(async () => (await adapter.exec(handle, 'true')).exitCode),
          byHand: (run) => timed(() => run({ as: 'exec', cmd: 'true', args: [], take })),
        },
      );
      return [figureOf(`p50 of ${pairs}, one at a time`, rounds)];
    },
  };
}

async function timed(exec: () => Promise<number>): Promise<number> {
  const began = performance.now();
  const exitCode = await exec();
  const took = performance.now() - began;
  if (exitCode !== 0) throw new Error(`true exited with ${exitCode}`);
  return took;
}

function take(): void {
  throw new Error('true printed something');
}
