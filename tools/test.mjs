// `npm test`: the set-up, then jest with the arguments that were given.
import { jest } from './jest.mjs';
import { afterSetUp } from './setup.mjs';

await afterSetUp(() => jest(process.argv.slice(2)));
