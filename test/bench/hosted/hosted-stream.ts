import { scaled, type Benchmark } from '../benchmark.js';
import { Pattern, type PatternReader } from '../pattern.js';
import type { HostedProvider } from './provider.js';
import { figureOf, sideBySide } from './side-by-side.js';

const PATTERN_MIB = 4;
const OUTPUT_MIB = 64;
const ROUNDS = 7;
const PAIRS = 3;

/** `spawn` of a command that prints, read to its end with `forEach`. */
export function hostedStream(provider: HostedProvider): Benchmark {
  return {
    name: `${provider.name}-stream`,
    what: `a command that prints ${OUTPUT_MIB} MiB, spawned through the adapter, on the emulator in a process of its own`,
    target: '≤ 1.1 × the time of a client by hand with the same calls and the same shim',
    async run(context) {
      const pattern = await Pattern.create(context, PATTERN_MIB);
      const { command: cmd, args, bytes } = pattern.printed(scaled(context, OUTPUT_MIB / PATTERN_MIB));
      const timed = async (read: (reader: PatternReader) => Promise<number>): Promise<number> => {
        const reader = pattern.reader();
        const began = performance.now();
        const exitCode = await read(reader);
        const took = performance.now() - began;
        if (exitCode !== 0) throw new Error(`${cmd} exited with ${exitCode}`);
        reader.end(bytes);
        return took;
      };
      const rounds = await sideBySide(
        context,
        provider,
        { rounds: ROUNDS, pairs: PAIRS },
        {
          ours: (adapter, handle) =>
            timed(async (reader) => {
              const running = await adapter.spawn(handle, cmd, args);
              return (await running.forEach(({ data }) => reader.take(data))).exitCode;
            }),
          byHand: (run) => timed((reader) => run({ as: 'spawn', cmd, args, take: (data) => reader.take(data) })),
        },
      );
      return [figureOf(`${bytes / 2 ** 20} MiB`, rounds)];
    },
  };
}
