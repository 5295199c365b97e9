import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../support/until.js';
import { scaled, type Benchmark, type BenchmarkContext } from './benchmark.js';
import { IdleClients } from './idle-clients.js';
import type { IdleListening, IdleLook, IdleQuestion, IdleWeight } from './idle-server.js';
import { mintRunners } from './platform.js';
import { Program } from './program.js';
import { compare, type Round } from './alternate.js';
import { extremes, median } from './statistics.js';

const RUNNERS = 2_000;
const ROUNDS = 3;
const WARM_UP = 200;
/** One interval of pings and heartbeats. */
const WINDOW_MS = 20_000;
const MAX_KIB = 25;
const MAX_CPU_PERCENT = 5;

interface Idle {
  readonly kibEach: number;
  readonly cpuPercent: number;
}

export const idleRunners: Benchmark = {
  name: 'idle-runners',
  what: `${RUNNERS} runners connected and idle, in a process of their own`,
  target: `≤ ${MAX_KIB} KiB each (RSS after garbage collection); < ${MAX_CPU_PERCENT} % of a core for heartbeats`,
  async run(context) {
    const rounds: Round<Idle>[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const [ours, comparator] = await Promise.all([hold(context, 'platform'), hold(context, 'bare')]);
      rounds.push({ ours, comparator });
    }
    const of = (key: keyof Idle): Round<number>[] =>
      rounds.map(({ ours, comparator }) => ({ ours: ours[key], comparator: comparator[key] }));
    const [memory, cpu] = [compare(of('kibEach')), compare(of('cpuPercent'))];
    const kib = rounds.map(({ ours }) => ours.kibEach);
    const percent = rounds.map(({ ours }) => ours.cpuPercent);
    return [
      {
        what: 'RSS of one idle runner',
        unit: 'KiB',
        ours: memory.ours,
        comparator: { what: 'bare ws server', value: memory.comparator },
        ratio: memory.ratio,
        spread: extremes(kib),
        target: `≤ ${MAX_KIB} KiB`,
        holds: median(kib) <= MAX_KIB,
      },
      {
        what: 'CPU for pings and heartbeats',
        unit: '% of a core',
        ours: cpu.ours,
        comparator: { what: 'bare ws server with pings', value: cpu.comparator },
        ratio: cpu.ratio,
        spread: extremes(percent),
        target: `< ${MAX_CPU_PERCENT} %`,
        holds: median(percent) < MAX_CPU_PERCENT,
      },
    ];
  },
};

/** A fresh process, so that no round lives in what another one left; both kinds are held in the same window. */
async function hold(context: BenchmarkContext, kind: 'platform' | 'bare'): Promise<Idle> {
  const runners = mintRunners(scaled(context, RUNNERS));
  const server = Program.start(context, './idle-server.js', { execArgv: ['--expose-gc'] });
  const clients = new IdleClients();
  context.defer('Closing idle sockets', () => clients.close());
  const { url } = await server.ask<IdleListening>({ op: 'listen', kind, runners } satisfies IdleQuestion);
  const look = (): Promise<IdleLook> => server.ask({ op: 'look' } satisfies IdleQuestion);
  const weigh = (): Promise<IdleWeight> => server.ask({ op: 'weigh' } satisfies IdleQuestion);
  const holding = (count: number): Promise<unknown> =>
    until(`the server holds ${count}`, async () => (await look()).connected === count, { everyMs: 100 });

  // Code and buffers that every connection shares are paid for before the count begins.
  await clients.dial(url, runners.slice(0, WARM_UP));
  await clients.close();
  await holding(0);
  const empty = await weigh();

  await clients.dial(url, runners);
  await holding(runners.length);
  const full = await weigh();
  const [before, began] = [await look(), performance.now()];
  await delay(WINDOW_MS * Math.min(1, context.scale));
  const [after, windowMs] = [await look(), performance.now() - began];
  await clients.close();
  await server.end();
  return {
    kibEach: (full.rssBytes - empty.rssBytes) / 1024 / runners.length,
    cpuPercent: ((after.cpuMs - before.cpuMs) / windowMs) * 100,
  };
}
