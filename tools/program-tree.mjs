// Programs of `test` as JavaScript: a directory that looks like the repository, with the build in the place of the
// sources, so that what they run is what is published.
import { transform } from '@swc/core';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const BUILT = ['src', 'libs', 'apps'];

const SWC = {
  swcrc: false,
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, verbatimModuleSyntax: true },
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

/**
 * Makes the directory for `test/<name>`, with `test/support`, and gives its path; whoever asks removes it. `SANDBOX_DIST`
 * takes the place of `dist` where it is set.
 */
export async function programTree(root, name) {
  const tree = mkdtempSync(join(tmpdir(), `nestjs-sandbox-${name}-`));
  const dist = resolve(process.env.SANDBOX_DIST || join(root, 'dist'));
  copyFileSync(join(root, 'package.json'), join(tree, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  symlinkSync(dist, join(tree, 'dist'));
  for (const part of BUILT) symlinkSync(join(dist, part), join(tree, part));
  for (const directory of [`test/${name}`, 'test/support']) {
    const files = readdirSync(join(root, directory), { recursive: true });
    for (const file of files.filter((entry) => /(?<!spec)\.ts$/.test(entry))) {
      const filename = join(root, directory, file);
      mkdirSync(dirname(join(tree, directory, file)), { recursive: true });
      const { code } = await transform(readFileSync(filename, 'utf8'), { ...SWC, filename });
      writeFileSync(join(tree, directory, file.replace(/\.ts$/, '.js')), code);
    }
  }
  return tree;
}
