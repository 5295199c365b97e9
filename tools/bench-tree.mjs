// The benchmarks as JavaScript: a directory that looks like the repository, with the build in the place of the sources,
// so that what is measured is what is published.
import { transform } from '@swc/core';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const COMPILED = ['test/bench', 'test/support'];
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

/** Makes it and gives its path; whoever asks removes it. */
export async function benchTree(root) {
  const tree = mkdtempSync(join(tmpdir(), 'nestjs-sandbox-bench-'));
  copyFileSync(join(root, 'package.json'), join(tree, 'package.json'));
  for (const name of ['node_modules', 'dist']) symlinkSync(join(root, name), join(tree, name));
  for (const name of BUILT) symlinkSync(join(root, 'dist', name), join(tree, name));
  for (const directory of COMPILED) {
    mkdirSync(join(tree, directory), { recursive: true });
    for (const name of readdirSync(join(root, directory)).filter((file) => /(?<!spec)\.ts$/.test(file))) {
      const filename = join(root, directory, name);
      const { code } = await transform(readFileSync(filename, 'utf8'), { ...SWC, filename });
      writeFileSync(join(tree, directory, name.replace(/\.ts$/, '.js')), code);
    }
  }
  return tree;
}
