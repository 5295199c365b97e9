// `prepack`, and `postpack` with `--undo`: while the package is packed, `dist` is a smaller one. JavaScript is without
// comments, declarations that no entry leads to are left out, and a tab takes the place of four spaces; see
// docs/decisions/0010-packed-below-2-mb.md.
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const NODE_NEXT = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };

/**
 * Puts a smaller `dist` in the place of the built one, until `restore`. It runs like that one, but is without the
 * compiler's record: should it stay, because npm failed in between, the next set-up builds again.
 */
export function slim(root) {
  const { dist, built, small } = paths(root);
  for (const left of [built, small]) rmSync(left, { recursive: true, force: true });
  const declarations = declarationsOfEntries(root);
  for (const file of readdirSync(dist, { recursive: true })) {
    const text = () => readFileSync(join(dist, file), 'utf8');
    if (file.endsWith('.js')) write(join(small, file), tabbed(withoutComments(text())));
    if (declarations.has(join(dist, file))) write(join(small, file), tabbed(text()));
  }
  renameSync(dist, built);
  renameSync(small, dist);
}

/** Brings back the `dist` that `slim` put aside, if it did. */
export function restore(root) {
  const { dist, built } = paths(root);
  if (!existsSync(built)) return;
  rmSync(dist, { recursive: true, force: true });
  renameSync(built, dist);
}

function paths(root) {
  return { dist: join(root, 'dist'), built: join(root, 'dist.built'), small: join(root, 'dist.small') };
}

/** The declarations that the compiler reads for somebody who imports all entries. */
function declarationsOfEntries(root) {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const entries = Object.values(exports).flatMap(({ types }) => (types ? [join(root, types)] : []));
  const program = ts.createProgram(entries, { ...NODE_NEXT, types: [] });
  return new Set(program.getSourceFiles().map(({ fileName }) => resolve(fileName)));
}

function withoutComments(text) {
  const compilerOptions = { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, removeComments: true };
  return ts.transpileModule(text, { fileName: 'built.js', compilerOptions }).outputText;
}

/** Where a literal goes on over a line, what that line begins with is part of its value. */
function tabbed(text) {
  const source = ts.createSourceFile('built.ts', text, ts.ScriptTarget.ESNext);
  const literals = [];
  const visit = (node) => {
    if (ts.isStringLiteral(node) || ts.isTemplateLiteralToken(node)) literals.push([node.getStart(source), node.end]);
    ts.forEachChild(node, visit);
  };
  visit(source);
  const isInLiteral = (at) => literals.some(([start, end]) => start < at && at < end);
  return text.replace(/^(?: {4})+/gm, (indent, at) => (isInLiteral(at) ? indent : '\t'.repeat(indent.length / 4)));
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const [, program, option] = process.argv;
if (program && realpathSync(program) === fileURLToPath(import.meta.url)) (option === '--undo' ? restore : slim)(ROOT);
