import ts from 'typescript';
import type { Files } from './files.js';
import { parse } from './imports.js';

/** Which of `codes` no source names, as a string or as a key; the file that declares them does not count. */
export function unusedCodes(files: Files, codes: readonly string[], declaredIn: string): string[] {
  const named = new Set(
    [...files].filter(([path]) => path !== declaredIn).flatMap(([path, text]) => names(path, text)),
  );
  return codes.filter((code) => !named.has(code));
}

function names(path: string, text: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) found.push(node.text);
    if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name)) found.push(node.name.text);
    ts.forEachChild(node, visit);
  };
  visit(parse(path, text));
  return found;
}
