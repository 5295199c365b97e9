// The conformance suite under `node --test`, with the arguments that were given to the runner.
import { join } from 'node:path';
import { withProgram } from './program.mjs';
import { run } from './run.mjs';

await withProgram('conformance', async (tree) => {
  const file = join(tree, 'test/conformance/node-test.js');
  const ended = await run(process.execPath, [...process.argv.slice(2), '--test', file], { stdio: 'inherit' });
  return ended.code;
});
