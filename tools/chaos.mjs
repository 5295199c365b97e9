// `npm run chaos`: the set-up, then the chaos run with the arguments that were given.
import { runMain } from './program.mjs';

await runMain('chaos');
