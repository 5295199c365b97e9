import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';

/** Everything that `file` reaches by import or export, types included: declarations must resolve without them too. */
function reach(file: string, files: Set<string>, packages: Set<string>): void {
  if (files.has(file)) return;
  files.add(file);
  const imports = /^(?:import|export)\s(?:type\s)?(?:[*{][^'}]*\}?\sfrom\s)?'([^']+)'|\bimport\('([^']+)'\)/gm;
  for (const [, named, called] of readFileSync(file, 'utf8').matchAll(imports)) {
    const specifier = named ?? called ?? '';
    if (specifier.startsWith('.')) reach(join(dirname(file), specifier.replace(/\.js$/, '.ts')), files, packages);
    else packages.add(specifier);
  }
}

function packagesOf(entry: string): { files: string[]; packages: string[] } {
  const [files, packages] = [new Set<string>(), new Set<string>()];
  reach(join(import.meta.dirname, entry), files, packages);
  return { files: [...files], packages: [...packages] };
}

test('core reaches nothing but Node, and index reaches rxjs', () => {
  const core = packagesOf('core.ts');
  expect(core.files.length).toBeGreaterThan(15);
  expect(core.files.every((file) => existsSync(file))).toBe(true);
  expect(core.packages.filter((name) => !name.startsWith('node:'))).toEqual([]);
  expect(packagesOf('index.ts').packages.filter((name) => !name.startsWith('node:'))).toEqual(['rxjs']);
});

test('only the Observable, the command and its interface know rxjs, and only one at run time', () => {
  const { files } = packagesOf('index.ts');
  const knowing = files.filter((file) => /from 'rxjs'/.test(readFileSync(file, 'utf8')));
  const running = knowing.filter((file) => /import (?!type)[^;]*from 'rxjs'/.test(readFileSync(file, 'utf8')));
  expect(knowing.map((file) => file.slice(import.meta.dirname.length + 1)).toSorted()).toEqual([
    'command-observable.ts',
    'command.ts',
    'streaming-command.ts',
  ]);
  expect(running.map((file) => file.slice(import.meta.dirname.length + 1))).toEqual(['command-observable.ts']);
});
