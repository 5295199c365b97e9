import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree } from './remove-tree.js';

let base: string;
let tree: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'remove-'));
  tree = join(base, 'tree');
  mkdirSync(tree);
});

afterEach(() => void execFileSync('rm', ['-rf', base]));

describe('a tree is removed', () => {
  test('with directories that nobody may write to or read', async () => {
    mkdirSync(join(tree, 'a', 'b'), { recursive: true });
    writeFileSync(join(tree, 'a', 'b', 'f'), '');
    chmodSync(join(tree, 'a', 'b'), 0);
    chmodSync(join(tree, 'a'), 0o500);
    await removeTree(tree);
    expect(existsSync(tree)).toBe(false);
  });

  test('without what its symlinks point to', async () => {
    const kept = join(base, 'kept');
    mkdirSync(kept);
    writeFileSync(join(kept, 'f'), '');
    symlinkSync(kept, join(tree, 'link'));
    await removeTree(tree);
    expect([existsSync(tree), readdirSync(kept)]).toEqual([false, ['f']]);
  });

  test('that is deeper than a path can be long', async () => {
    for (let level = 0; level < 60; level += 1) {
      // One more around it: the whole can be made, too, without a path to its depth.
      const around = join(base, 'around');
      mkdirSync(around);
      writeFileSync(join(around, 'f'), '');
      renameSync(tree, join(around, 'd'.repeat(200)));
      renameSync(around, tree);
    }
    const deepest = join(tree, ...Array.from({ length: 60 }, () => 'd'.repeat(200)));
    expect(() => readdirSync(deepest)).toThrow('ENAMETOOLONG');
    await removeTree(tree);
    expect(readdirSync(base)).toEqual([]);
  });

  test('that is not there', async () => {
    await expect(removeTree(join(base, 'none'))).resolves.toBeUndefined();
  });
});
