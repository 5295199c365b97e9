import type { Benchmark } from './benchmark.js';
import { execTrue } from './exec-true.js';
import { facade } from './facade.js';
import { idleRunners } from './idle-runners.js';
import { manySessions } from './many-sessions.js';
import { restartHerd } from './restart-herd.js';
import { streaming } from './streaming.js';

/** In the order of the report. */
export const BENCHMARKS: readonly Benchmark[] = [streaming, execTrue, manySessions, idleRunners, restartHerd, facade];
