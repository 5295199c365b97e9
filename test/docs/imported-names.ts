import ts from 'typescript';
import { parse } from '../architecture/imports.js';

/** The names of values that a file imports, as they were exported. */
export function importedNames(path: string, text: string): string[] {
  return parse(path, text).statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) || statement.importClause?.isTypeOnly) return [];
    const bindings = statement.importClause?.namedBindings;
    if (!bindings || !ts.isNamedImports(bindings)) return [];
    return bindings.elements.filter((one) => !one.isTypeOnly).map((one) => (one.propertyName ?? one.name).text);
  });
}
