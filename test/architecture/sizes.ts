import ts from 'typescript';
import type { Files } from './files.js';
import { parse } from './imports.js';

export interface Sizes {
  readonly median: number;
  readonly p90: number;
  readonly largest: { readonly path: string; readonly lines: number };
}

/** Lines that hold code: blank ones and comments do not count. */
export function codeLines(path: string, text: string): number {
  const file = parse(path, text);
  const lines = new Set<number>();
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node) || node.kind === ts.SyntaxKind.EndOfFileToken) return;
    const children = node.getChildren(file);
    if (children.length > 0) return children.forEach(visit);
    if (node.getWidth(file) === 0) return;
    const first = file.getLineAndCharacterOfPosition(node.getStart(file)).line;
    const last = file.getLineAndCharacterOfPosition(node.getEnd()).line;
    for (let line = first; line <= last; line++) lines.add(line);
  };
  visit(file);
  return lines.size;
}

export function sizes(files: Files): Sizes {
  const counted = [...files]
    .map(([path, text]) => ({ path, lines: codeLines(path, text) }))
    .toSorted((a, b) => a.lines - b.lines);
  const at = (part: number): { path: string; lines: number } =>
    counted[Math.max(0, Math.ceil(counted.length * part) - 1)] ?? { path: '', lines: 0 };
  return { median: at(0.5).lines, p90: at(0.9).lines, largest: at(1) };
}
