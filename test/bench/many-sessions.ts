import { monitorEventLoopDelay } from 'node:perf_hooks';
import { alternate, compare } from './alternate.js';
import { BarePipe } from './bare-pipe.js';
import { scaled, type Benchmark } from './benchmark.js';
import { Pattern } from './pattern.js';
import { startRunners } from './platform.js';
import { readCommand } from './read-command.js';
import { extremes, median } from './statistics.js';

const RUNNERS = 20;
const SESSIONS = 200;
const OUTPUT_MIB = 4;
const ROUNDS = 3;
const DELAY_BELOW_MS = 100;

export const manySessions: Benchmark = {
  name: 'many-sessions',
  what: `${SESSIONS} sessions at once over ${RUNNERS} runners`,
  target: `every byte exact; sum ≥ 0.5 of the bare base64-JSON pipe; event-loop delay p99 < ${DELAY_BELOW_MS} ms`,
  async run(context) {
    const pattern = await Pattern.create(context, OUTPUT_MIB);
    const sessions = scaled(context, SESSIONS);
    const pipe = await BarePipe.open(context, { nice: true });
    // On machines of their own they would not take the platform's cores.
    const { platform, handles } = await startRunners(context, Math.min(RUNNERS, sessions), { nice: true });
    const megabytes = (sessions * OUTPUT_MIB * 1024 * 1024) / 1e6;
    const delays: number[] = [];
    const together = async (): Promise<number> => {
      const delay = monitorEventLoopDelay({ resolution: 10 });
      delay.enable();
      const began = performance.now();
      const commands = Array.from({ length: sessions }, (_, index) =>
        readCommand(platform.sandboxes, handles[index % handles.length] as (typeof handles)[0], pattern, 1),
      );
      await Promise.all(commands);
      const tookMs = performance.now() - began;
      delay.disable();
      delays.push(delay.percentile(99) / 1e6);
      return (megabytes / tookMs) * 1e3;
    };
    const rounds = await alternate(
      ROUNDS,
      together,
      async () => (megabytes / (await pipe.run(pattern, sessions))) * 1e3,
    );
    const { ours, comparator, ratio, ratios } = compare(rounds);
    const warm = delays.slice(1);
    return [
      {
        what: 'sum of throughput',
        unit: 'MB/s',
        ours,
        comparator: { what: 'bare base64-JSON pipe, one stream', value: comparator },
        ratio,
        spread: ratios,
        target: '≥ 0.5 ×',
        holds: ratio >= 0.5,
      },
      {
        // A reader throws at the first byte that is wrong, so that whoever gets here has read all of them.
        what: 'sessions exact to the byte',
        unit: '',
        ours: sessions,
        spread: [sessions, sessions],
        target: 'all',
        holds: true,
      },
      {
        what: 'event-loop delay of the platform, p99',
        unit: 'ms',
        ours: median(warm),
        spread: extremes(warm),
        target: `< ${DELAY_BELOW_MS} ms`,
        holds: median(warm) < DELAY_BELOW_MS,
      },
    ];
  },
};
