// `npm run test:package`: the set-up, then the package as others install it: packed once, installed in empty directories.
// Needs a registry, or a cache of npm that has what is installed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jest } from './jest.mjs';
import { withLock } from './lock.mjs';
import { run } from './run.mjs';
import { afterSetUp } from './setup.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

await afterSetUp(async () => {
  const work = mkdtempSync(join(tmpdir(), 'nestjs-sandbox-package-'));
  try {
    const code = await withLock(join(root, '.setup.lock'), () => pack(work));
    if (code !== 0) return code;
    const config = join(root, 'jest.package.config.js');
    return await jest(['--config', config, ...process.argv.slice(2)], { PACKAGE_TEST_DIRECTORY: work });
  } finally {
    rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  }
});

/** As `npm pack` does, but of what the set-up built: with another build that would not count as the set-up's. */
async function pack(destination) {
  const { restore, slim } = await import('./slim.mjs');
  slim(root);
  try {
    const args = ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', destination];
    // What npm says of it is not for stdout, where jest may write its results.
    return (await run('npm', args, { stdio: ['ignore', 2, 2], cwd: root })).code;
  } finally {
    restore(root);
  }
}
