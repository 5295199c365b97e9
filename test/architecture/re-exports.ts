import type { Files } from './files.js';
import { parse } from './imports.js';
import { edges } from './modules.js';
import ts from 'typescript';

const MAY_RE_EXPORT = /\/index\.ts$|^libs\/contract\/src\/core\.ts$/;

/** Files other than the entries that pass on what another file exports. */
export function reExportFaults(files: Files): string[] {
  return edges(files)
    .filter((edge) => edge.reExport && !MAY_RE_EXPORT.test(edge.from))
    .map((edge) => `${edge.from}:${edge.line} re-exports ${edge.specifier}`);
}

/** Whether a file says `export * from`, so that nobody sees in it what is public. */
export function exportsEverything(path: string, text: string): boolean {
  return parse(path, text).statements.some((node) => ts.isExportDeclaration(node) && !node.exportClause);
}
