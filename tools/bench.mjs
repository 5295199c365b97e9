// `npm run bench`: the set-up, then the benchmarks with the arguments that were given.
import { runMain } from './program.mjs';

await runMain('bench');
