// The conformance suite under `node --test`, with the arguments that were given to the runner.
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './run.mjs';
import { afterSetUp } from './setup.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

async function nodeTest() {
  // Only now: it needs an installed package.
  const { programTree } = await import('./bench-tree.mjs');
  const tree = await programTree(root, 'conformance');
  try {
    const file = join(tree, 'test/conformance/node-test.js');
    const ended = await run(process.execPath, [...process.argv.slice(2), '--test', file], { stdio: 'inherit' });
    return ended.code;
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

// A build that was made elsewhere needs no set-up.
if (process.env.SANDBOX_DIST) process.exitCode = await nodeTest();
else await afterSetUp(nodeTest, root);
