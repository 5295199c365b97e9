import { alternate, compare, type Round } from './alternate.js';
import { scaled, type Benchmark } from './benchmark.js';
import { latencies } from './latencies.js';
import type { SpawnQuestion } from './local-spawn.js';
import { startRunners } from './platform.js';
import { Program } from './program.js';
import { extremes, median, quantile } from './statistics.js';

const ROUNDS = 5;
const SERIAL = 300;
const PARALLEL = 50;
const AT_ONCE = 2_000;
const BESIDE = 'local spawn';

export const execTrue: Benchmark = {
  name: 'exec-true',
  what: '`exec true` through service, gateway, WebSocket and daemon',
  target: `p50 ≤ local spawn + 1 ms; p99 at ${PARALLEL} parallel ≤ 2 × local spawn`,
  async run(context) {
    const local = Program.start(context, './local-spawn.js');
    const { platform, handles } = await startRunners(context, 1);
    const [handle] = handles as [(typeof handles)[0]];
    const exec = (): Promise<unknown> => platform.sandboxes.exec(handle, 'true');
    const measure = (count: number, parallel: number): Promise<Round<number[]>[]> =>
      alternate(
        ROUNDS,
        () => latencies(count, parallel, exec),
        () => local.ask<number[]>({ count, parallel } satisfies SpawnQuestion),
      );
    const at = (rounds: readonly Round<number[]>[], part: number): Round<number>[] =>
      rounds.map(({ ours, comparator }) => ({ ours: quantile(ours, part), comparator: quantile(comparator, part) }));

    const p50 = at(await measure(scaled(context, SERIAL), 1), 0.5);
    const p99 = at(await measure(scaled(context, AT_ONCE, PARALLEL), PARALLEL), 0.99);
    const added = p50.map(({ ours, comparator }) => ours - comparator);
    const one = compare(p50);
    const many = compare(p99);
    return [
      {
        what: 'p50, one at a time',
        unit: 'ms',
        ours: one.ours,
        comparator: { what: BESIDE, value: one.comparator },
        ratio: one.ratio,
        spread: extremes(added),
        target: '≤ + 1 ms',
        holds: median(added) <= 1,
      },
      {
        what: `p99, ${PARALLEL} parallel`,
        unit: 'ms',
        ours: many.ours,
        comparator: { what: BESIDE, value: many.comparator },
        ratio: many.ratio,
        spread: many.ratios,
        target: '≤ 2 ×',
        holds: many.ratio <= 2,
      },
    ];
  },
};
