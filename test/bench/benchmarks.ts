import type { Benchmark } from './benchmark.js';
import { execTrue } from './exec-true.js';
import { facade } from './facade.js';
import { hostedExec } from './hosted/hosted-exec.js';
import { hostedStream } from './hosted/hosted-stream.js';
import { PROVIDERS } from './hosted/providers.js';
import { idleRunners } from './idle-runners.js';
import { manySessions } from './many-sessions.js';
import { restartHerd } from './restart-herd.js';
import { streaming } from './streaming.js';

/** In the order of the report. */
export const BENCHMARKS: readonly Benchmark[] = [
  streaming,
  execTrue,
  manySessions,
  idleRunners,
  restartHerd,
  facade,
  ...PROVIDERS.flatMap((provider) => [hostedExec(provider), hostedStream(provider)]),
];
