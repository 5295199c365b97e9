import { describe, expect, test } from '@jest/globals';
import { example, repositoryFiles } from './files.js';
import { lockFileFaults } from './lock-file.js';
import { manifestFaults, type Manifest } from './manifest.js';

const files = repositoryFiles();
const read = (path: string): unknown => JSON.parse(files.get(path) ?? '{}');

describe('the package', () => {
  const manifest = read('package.json') as Manifest;

  test('what package.json promises is there and is all that others install', () => {
    expect(manifestFaults(manifest, files)).toEqual([]);
  });

  test('the lock file fits package.json and names no address to download from', () => {
    expect(lockFileFaults(read('package-lock.json') as object, manifest)).toEqual([]);
  });

  test('the change log has a chapter for the version', () => {
    expect(files.get('docs/CHANGELOG.md')).toContain(`## ${(read('package.json') as { version: string }).version}\n`);
  });

  test.each<[fault: string, change: Manifest]>([
    ['the package is not ESM', { type: 'commonjs' }],
    ['no licence', { license: 'MIT' }],
    ['engines differ from the set-up', { engines: { node: '>=18' } }],
    ['other files are shipped', { files: ['dist'] }],
    ['postinstall runs at an install', { scripts: { ...manifest.scripts, postinstall: 'x' } }],
    ['it is packed without a build', { scripts: { ...manifest.scripts, prepack: ' && node tools/slim.mjs' } }],
    ['it is not packed as it is tested', { scripts: { ...manifest.scripts, prepack: 'npm run build && x' } }],
    ['it is not packed as it is tested', { scripts: { ...manifest.scripts, postpack: '' } }],
    ['the peer rxjs is not optional', { peerDependencies: { rxjs: '7' }, peerDependenciesMeta: {} }],
    ['everyone would install rxjs', { dependencies: { rxjs: '7' } }],
    ['./a has no types', { exports: { './a': './dist/src/index.js' } }],
    ['./a is not types, then default', { exports: { './a': { default: './dist/a.js', types: './dist/a.d.ts' } } }],
    ['./a has the types of another file', { exports: { './a': { types: './dist/b.d.ts', default: './dist/a.js' } } }],
    [
      './a leads to src/none.ts, which does not exist',
      { exports: { './a': { types: './dist/src/none.d.ts', default: './dist/src/none.js' } } },
    ],
    ['#x/* leads to x/*.ts, which does not exist', { imports: { '#x/*': './dist/x/*.js' } }],
    ['the program x has no source that starts with its interpreter', { bin: { x: './dist/src/index.js' } }],
  ])('“%s” is found', (fault, change) => {
    const sound = example({ LICENSE: 'Apache License', 'src/index.ts': '' });
    const { exports: _exports, imports: _imports, bin: _bin, ...rest } = manifest;
    expect(manifestFaults(rest, sound)).toEqual([]);
    expect(manifestFaults({ ...rest, ...change }, sound)).toEqual([fault]);
  });

  test.each<[fault: string, entry: object]>([
    ['node_modules/a has a download address', { resolved: 'https://example.org/a.tgz', integrity: 'sha512-x' }],
    ['node_modules/a has no checksum', { version: '1.0.0' }],
  ])('a lock file in which %s is found', (fault, entry) => {
    expect(lockFileFaults({ packages: { '': {}, 'node_modules/a': entry } }, {})).toEqual([fault]);
  });

  test('a lock file that was forgotten is found', () => {
    const faults = ['dependencies are others than in package.json'];
    expect(lockFileFaults({ packages: { '': { dependencies: { a: '1' } } } }, { dependencies: { a: '2' } })).toEqual(
      faults,
    );
  });
});
