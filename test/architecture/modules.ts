import { join } from 'node:path/posix';
import type { Files } from './files.js';
import { importsOf, type Import } from './imports.js';

/** Names by which a file outside its own folder can be imported, as in package.json. */
const ALIASES: Readonly<Record<string, string>> = {
  '#libs/contract/core': 'libs/contract/src/core.ts',
  'nestjs-sandbox': 'src/index.ts',
  'nestjs-sandbox/runner': 'src/runner/index.ts',
  'nestjs-sandbox/health': 'src/health/index.ts',
  'nestjs-sandbox/otel': 'src/otel/index.ts',
  'nestjs-sandbox/contract': 'libs/contract/src/index.ts',
  'nestjs-sandbox/testing': 'libs/testing/src/index.ts',
};

/** One import and what it leads to: a path of the repository, or the name of a package. */
export interface Edge extends Import {
  readonly from: string;
  readonly to: string;
}

function edgesOf(path: string, text: string): Edge[] {
  return importsOf(path, text).map(({ specifier, line, typeOnly, reExport }) => {
    return { from: path, to: target(path, specifier), specifier, line, typeOnly, reExport };
  });
}

const known = new WeakMap<Files, readonly Edge[]>();

export function edges(files: Files): readonly Edge[] {
  const found = known.get(files) ?? [...files].flatMap(([path, text]) => edgesOf(path, text));
  known.set(files, found);
  return found;
}

function target(from: string, specifier: string): string {
  if (specifier.startsWith('.')) return join(from, '..', specifier).replace(/\.js$/, '.ts');
  const alias = ALIASES[specifier];
  if (alias) return alias;
  const lib = /^#libs\/(.+)$/.exec(specifier)?.[1];
  if (lib) return `libs/${lib}/src/index.ts`;
  if (specifier.startsWith('node:')) return specifier;
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

export function isPackage(to: string): boolean {
  return !/^(?:src|libs|apps|test)\//.test(to);
}

/** The part of the repository with an order of its own: `libs/<name>`, `src/<folder>`, `apps/<name>`, `src`, `test`. */
export function unitOf(path: string): string {
  const [top = '', second = '', ...rest] = path.split('/');
  return top === 'test' || rest.length === 0 ? top : `${top}/${second}`;
}
