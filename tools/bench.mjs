// `npm run bench`: the set-up, then the benchmarks with the arguments that were given.
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterSetUp } from './setup.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

async function bench() {
  // Only now: it needs an installed package.
  const { benchTree } = await import('./bench-tree.mjs');
  const tree = await benchTree(root);
  try {
    const { main } = await import(pathToFileURL(join(tree, 'test/bench/main.js')).href);
    return await main(process.argv.slice(2));
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

// A build that was made elsewhere needs no set-up.
if (process.env.SANDBOX_DIST) process.exitCode = await bench();
else await afterSetUp(bench, root);
