import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import ts from 'typescript';
import { REPOSITORY, distFile } from '../support/dist.js';

/** One name that an entry of the package exports. */
export interface PublicExport {
  readonly name: string;
  /** Whether there is something at run time. */
  readonly isValue: boolean;
  /** The types as they are published, without comments and private members. */
  readonly text: string;
  readonly hasDocblock: boolean;
  /** Names of the package in that text that no entry exports. */
  readonly unexported: readonly string[];
}

/** The exports of every entry, in the order of `package.json`, names in alphabetical order; read from what was built. */
export function publicApi(): Map<string, PublicExport[]> {
  const entries = entryFiles();
  const program = ts.createProgram([...entries.values()], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    types: ['node'],
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const exportsOf = (file: string): ts.Symbol[] => {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${file} is no module`);
    return checker.getExportsOfModule(module).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  };
  const target = (symbol: ts.Symbol): ts.Symbol =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const known = new Set([...entries.values()].flatMap((file) => exportsOf(file).map(target)));
  const describe = (exported: ts.Symbol): PublicExport => {
    const symbol = target(exported);
    const declarations = (symbol.declarations ?? []).map(whole);
    return {
      name: exported.name,
      isValue: Boolean(symbol.flags & ts.SymbolFlags.Value) && !isTypeOnly(exported),
      text: declarations.map(printed).join('\n'),
      hasDocblock: symbol.getDocumentationComment(checker).length > 0,
      unexported: declarations.flatMap((one) => unexportedIn(one, checker, (found) => known.has(target(found)))),
    };
  };
  return new Map([...entries].map(([entry, file]) => [entry, exportsOf(file).map(describe)]));
}

function entryFiles(): Map<string, string> {
  const manifest = JSON.parse(readFileSync(resolve(REPOSITORY, 'package.json'), 'utf8')) as {
    exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  return new Map(
    Object.entries(manifest.exports).flatMap(([entry, paths]) =>
      typeof paths === 'string' ? [] : [[entry, distFile(relative('dist', paths.types))]],
    ),
  );
}

/** Classes exported with `export type` are types only. */
function isTypeOnly(exported: ts.Symbol): boolean {
  return (exported.declarations ?? []).some((one) => ts.isTypeOnlyExportDeclaration(one));
}

/** The statement that a declared variable stands in. */
function whole(declaration: ts.Declaration): ts.Node {
  return ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
}

const printer = ts.createPrinter({ removeComments: true });

function printed(declaration: ts.Node): string {
  const shown = ts.isClassDeclaration(declaration) ? withoutPrivate(declaration) : declaration;
  return printer.printNode(ts.EmitHint.Unspecified, shown, declaration.getSourceFile());
}

function withoutPrivate(declaration: ts.ClassDeclaration): ts.ClassDeclaration {
  const members = declaration.members.filter((member) => !isPrivate(member));
  const { modifiers, name, typeParameters, heritageClauses } = declaration;
  return ts.factory.updateClassDeclaration(declaration, modifiers, name, typeParameters, heritageClauses, members);
}

function isPrivate(member: ts.ClassElement): boolean {
  const named = member.name !== undefined && ts.isPrivateIdentifier(member.name);
  return named || Boolean(ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private);
}

function unexportedIn(
  declaration: ts.Node,
  checker: ts.TypeChecker,
  isExported: (symbol: ts.Symbol) => boolean,
): string[] {
  const found = new Set<string>();
  const note = (name: ts.Node): void => {
    const symbol = checker.getSymbolAtLocation(name);
    if (symbol && !isExported(symbol) && isOurs(symbol, checker)) found.add(symbol.name);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isClassElement(node) && isPrivate(node)) return;
    if (ts.isTypeReferenceNode(node)) note(node.typeName);
    if (ts.isExpressionWithTypeArguments(node)) note(node.expression);
    if (ts.isTypeQueryNode(node)) note(node.exprName);
    ts.forEachChild(node, visit);
  };
  visit(declaration);
  return [...found].toSorted();
}

/** Declared at the top of a file of this package, so that somebody could export it. */
function isOurs(symbol: ts.Symbol, checker: ts.TypeChecker): boolean {
  const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  return (real.declarations ?? []).some((one) => {
    const file = one.getSourceFile();
    return !file.fileName.includes('/node_modules/') && whole(one).parent === file;
  });
}
