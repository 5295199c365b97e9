import { describe, expect, test } from '@jest/globals';
import { example, repositoryFiles, sources } from './files.js';
import { exportsEverything, reExportFaults } from './re-exports.js';

describe('re-exports', () => {
  const files = sources(repositoryFiles());

  test('only entries pass on what other files export', () => {
    expect(reExportFaults(files)).toEqual([]);
  });

  test.each(['src/index.ts', 'src/runner/index.ts'])('%s names each of its exports', (path) => {
    expect(exportsEverything(path, files.get(path) ?? "export * from 'missing';")).toBe(false);
  });

  test.each([
    ['all of a file', "export * from './b.js';"],
    ['a name of a file', "export { b } from './b.js';"],
    ['a type of a file', "export type { B } from './b.js';"],
    ['an imported name', "import { b } from './b.js';\nexport { b as c };"],
    ['a default import', "import b from './b.js';\nexport { b };"],
    ['a namespace', "import * as b from './b.js';\nexport { b };"],
  ])('passing on %s outside an entry is a fault', (_, text) => {
    expect(reExportFaults(example({ 'src/a.ts': text }))).toEqual([
      expect.stringMatching(/^src\/a\.ts:\d re-exports \.\/b\.js$/),
    ]);
    expect(reExportFaults(example({ 'src/x/index.ts': text, 'libs/contract/src/core.ts': text }))).toEqual([]);
  });

  test('exporting what a file made itself is no fault', () => {
    const text = "import { b } from './b.js';\nconst c = b;\nexport { c };\nexport const d = 1;";
    expect(reExportFaults(example({ 'src/a.ts': text }))).toEqual([]);
  });

  test('an export of everything is found', () => {
    expect(exportsEverything('a.ts', "export * from './b.js';")).toBe(true);
    expect(exportsEverything('a.ts', "export { b } from './b.js';")).toBe(false);
  });
});
