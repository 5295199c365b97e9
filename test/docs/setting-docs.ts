import ts from 'typescript';
import { parse } from '../architecture/imports.js';

/** What the docblock of a setting says. */
export interface SettingDoc {
  /** Without the sentence about the environment. */
  readonly text: string;
  /** The variable that it names. */
  readonly environment: string;
  readonly byDefault: string;
}

/** The docblocks of the properties of the classes in a file that are decorated with `@Setting`. */
export function settingDocs(path: string, text: string): Map<string, SettingDoc> {
  const found = new Map<string, SettingDoc>();
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyDeclaration(node) && isSetting(node)) found.set(node.name.getText(), docOf(node));
    ts.forEachChild(node, visit);
  };
  visit(parse(path, text));
  return found;
}

function isSetting(node: ts.PropertyDeclaration): boolean {
  return (ts.getDecorators(node) ?? []).some(({ expression }) => expression.getText().startsWith('Setting('));
}

function docOf(node: ts.PropertyDeclaration): SettingDoc {
  const block = ts.getJSDocCommentsAndTags(node).find((part) => ts.isJSDoc(part));
  const said = flat(block && ts.getTextOfJSDocComment(block.comment));
  const tag = block?.tags?.find(({ tagName }) => tagName.text === 'default');
  const environment = /\s*Environment:\s*`([A-Z0-9_]+)`\./.exec(said);
  return {
    text: said.replace(environment?.[0] ?? '', '').trim(),
    environment: environment?.[1] ?? '',
    byDefault: flat(tag && ts.getTextOfJSDocComment(tag.comment)),
  };
}

function flat(text: string | undefined): string {
  return (text ?? '').replace(/\s+/g, ' ').trim();
}
