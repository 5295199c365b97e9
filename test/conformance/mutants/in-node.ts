import { ALL_MUTANTS } from './all-mutants.js';
import { catchOf } from './catching.js';
import { namedBy } from './mutant.js';

// A process of its own for mutants that need one: prints how each case caught the one that is named.
const mutant = ALL_MUTANTS.find(({ name }) => name === process.argv[2]);
if (mutant === undefined) throw new Error('name a mutant');
const caught: (readonly [string, string])[] = [];
for (const id of namedBy(mutant)) caught.push([id, await catchOf(mutant, id)]);
process.stdout.write(JSON.stringify(caught));
