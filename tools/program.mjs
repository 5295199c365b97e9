// What `npm run bench`, `chaos`, `conformance` and `believability` have in common.
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterSetUp } from './setup.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** The set-up, then `main` of `test/<name>` with the arguments that were given. */
export function runMain(name) {
  return withProgram(name, async (tree) => {
    const { main } = await import(pathToFileURL(join(tree, 'test', name, 'main.js')).href);
    return main(process.argv.slice(2));
  });
}

/**
 * The set-up, then `work` with the tree of `test/<name>`, which is removed afterwards. `work` gives the exit code. A
 * build that was made elsewhere, which `SANDBOX_DIST` names, needs no set-up.
 */
export async function withProgram(name, work) {
  // Who stops reading, as `| head` does, has what was wanted.
  process.stdout.on('error', (error) => {
    if (error.code !== 'EPIPE') throw error;
  });
  const run = async () => {
    // Only now: it needs an installed package.
    const { programTree } = await import('./program-tree.mjs');
    const tree = await programTree(ROOT, name);
    try {
      return await work(tree);
    } finally {
      rmSync(tree, { recursive: true, force: true });
    }
  };
  if (process.env.SANDBOX_DIST) process.exitCode = await run();
  else await afterSetUp(run);
}
