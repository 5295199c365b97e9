import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Where `tools/test-package.mjs` packed to; also the place for directories to install in. */
export function packageTestDirectory(): string {
  const directory = process.env['PACKAGE_TEST_DIRECTORY'];
  if (!directory) throw new Error('run these tests with `npm run test:package`');
  return directory;
}

/** The package as it would be published. */
export function tarball(): string {
  const name = readdirSync(packageTestDirectory()).find((file) => file.endsWith('.tgz'));
  if (name === undefined) throw new Error('nothing was packed');
  return join(packageTestDirectory(), name);
}
