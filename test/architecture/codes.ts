import ts from 'typescript';
import type { Files } from './files.js';
import { lineOf, parse } from './imports.js';

/** Which of `codes` no source names, as a string or as a key; the files that describe them do not count. */
export function unusedCodes(files: Files, codes: readonly string[], describedIn: readonly string[]): string[] {
  const named = new Set(
    [...files].filter(([path]) => !describedIn.includes(path)).flatMap(([path, text]) => names(path, text)),
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

/** Errors whose detail is not a case of their code, where both are written out. */
export function detailFaults(files: Files, codesOf: (detail: string) => readonly string[] | undefined): string[] {
  return [...files].flatMap(([path, text]) => {
    const file = parse(path, text);
    const found: string[] = [];
    const visit = (node: ts.Node): void => {
      const said =
        ts.isNewExpression(node) && node.expression.getText(file) === 'SandboxError' ? literal(node) : undefined;
      if (said && !codesOf(said.detail)?.includes(said.code))
        found.push(`${path}:${lineOf(file, node)} ${said.detail} is no case of ${said.code}`);
      ts.forEachChild(node, visit);
    };
    visit(file);
    return found;
  });
}

function literal(node: ts.NewExpression): { code: string; detail: string } | undefined {
  const [code, init] = node.arguments ?? [];
  if (!code || !ts.isStringLiteral(code) || !init || !ts.isObjectLiteralExpression(init)) return undefined;
  for (const property of init.properties) {
    if (!ts.isPropertyAssignment(property) || property.name.getText() !== 'detail') continue;
    if (ts.isStringLiteral(property.initializer)) return { code: code.text, detail: property.initializer.text };
  }
  return undefined;
}
