// `npm run test:package`: the set-up, then the package as others install it: packed once, installed in empty directories.
// Needs a registry, or a cache of npm that has what is installed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './lock.mjs';
import { run } from './run.mjs';
import { afterSetUp } from './setup.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

await afterSetUp(async () => {
  const work = mkdtempSync(join(tmpdir(), 'nestjs-sandbox-package-'));
  try {
    const code = await withLock(join(root, '.setup.lock'), () => pack(work));
    if (code !== 0) return code;
    const config = join(root, 'jest.package.config.js');
    const ended = await run(process.execPath, [...flags, jest, '--config', config, ...process.argv.slice(2)], {
      stdio: 'inherit',
      cwd: root,
      env: { ...process.env, PACKAGE_TEST_DIRECTORY: work },
    });
    return ended.code;
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
