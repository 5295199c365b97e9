// `npm run conformance`: the set-up, then the conformance suite with the arguments that were given.
import { runMain } from './program.mjs';

await runMain('conformance');
