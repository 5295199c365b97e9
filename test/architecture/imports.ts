import ts from 'typescript';

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** Erased by the compiler: nothing is loaded because of it. */
  readonly typeOnly: boolean;
  /** `export … from`, or an export of what was imported. */
  readonly reExport: boolean;
}

/** Every module that a file names: imports, exports from, `import()` and `import('…')` types. */
export function importsOf(path: string, text: string): Import[] {
  const file = parse(path, text);
  const found: Import[] = [];
  const add = (node: ts.Node, specifier: ts.Node | undefined, typeOnly: boolean, reExport = false): void => {
    if (!specifier || !ts.isStringLiteralLike(specifier)) return;
    found.push({ specifier: specifier.text, line: lineOf(file, node), typeOnly, reExport });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      add(node, node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    } else if (ts.isExportDeclaration(node)) {
      add(node, node.moduleSpecifier, node.isTypeOnly, true);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node, node.arguments[0], false);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node, node.argument.literal, true);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return [...found, ...passedOn(file)];
}

/** `import { a } from 'm'; export { a };` says the same as `export { a } from 'm'`. */
function passedOn(file: ts.SourceFile): Import[] {
  const origins = new Map<string, { specifier: string; typeOnly: boolean }>();
  for (const node of file.statements) {
    if (!ts.isImportDeclaration(node) || !ts.isStringLiteral(node.moduleSpecifier)) continue;
    const typeOnly = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
    for (const name of namesOf(node.importClause))
      origins.set(name, { specifier: node.moduleSpecifier.text, typeOnly });
  }
  return file.statements
    .filter((node) => ts.isExportDeclaration(node))
    .filter((node) => !node.moduleSpecifier && node.exportClause && ts.isNamedExports(node.exportClause))
    .flatMap((node) => {
      const elements = node.exportClause && ts.isNamedExports(node.exportClause) ? [...node.exportClause.elements] : [];
      return elements.flatMap((element) => {
        const origin = origins.get((element.propertyName ?? element.name).text);
        return origin ? [{ ...origin, line: lineOf(file, node), reExport: true }] : [];
      });
    });
}

function namesOf(clause: ts.ImportClause | undefined): string[] {
  const bindings = clause?.namedBindings;
  const names = bindings ? (ts.isNamedImports(bindings) ? bindings.elements.map((e) => e.name) : [bindings.name]) : [];
  return [clause?.name, ...names].flatMap((name) => (name ? [name.text] : []));
}

export function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

export function lineOf(file: ts.SourceFile, node: ts.Node): number {
  return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
}
