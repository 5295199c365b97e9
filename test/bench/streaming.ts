import { alternate, compare } from './alternate.js';
import { BarePipe } from './bare-pipe.js';
import { scaled, type Benchmark } from './benchmark.js';
import { Pattern } from './pattern.js';
import { startRunners } from './platform.js';
import { readCommand } from './read-command.js';

const PATTERN_MIB = 4;
const OUTPUT_MIB = 512;
const ROUNDS = 5;

export const streaming: Benchmark = {
  name: 'streaming-v1',
  what: 'one session over version 1: daemon and platform as two processes, with the journal',
  target: '≥ 0.8 of the bare base64-JSON pipe',
  async run(context) {
    const pattern = await Pattern.create(context, PATTERN_MIB);
    const times = scaled(context, OUTPUT_MIB / PATTERN_MIB);
    const pipe = await BarePipe.open(context);
    const { platform, handles } = await startRunners(context, 1);
    const [handle] = handles as [(typeof handles)[0]];
    const megabytes = (times * PATTERN_MIB * 1024 * 1024) / 1e6;
    const rounds = await alternate(
      ROUNDS,
      async () => (megabytes / (await readCommand(platform.sandboxes, handle, pattern, times))) * 1e3,
      async () => (megabytes / (await pipe.run(pattern, times))) * 1e3,
    );
    const { ours, comparator, ratio, ratios } = compare(rounds);
    return [
      {
        what: 'throughput',
        unit: 'MB/s',
        ours,
        comparator: { what: 'bare base64-JSON pipe', value: comparator },
        ratio,
        spread: ratios,
        target: '≥ 0.8 ×',
        holds: ratio >= 0.8,
      },
    ];
  },
};
