import { basename, resolve } from 'node:path';
import ts from 'typescript';
import { repositoryFiles } from '../architecture/files.js';
import type { Snippet } from './snippets.js';

/** What the compiler says of TypeScript that stands in a text, as if the pieces were files of this repository. */
export function compileSnippets(pieces: readonly Snippet[]): string[] {
  const tsconfig = JSON.parse(repositoryFiles().get('tsconfig.json') ?? '{}') as object;
  const { options } = ts.parseJsonConfigFileContent(tsconfig, ts.sys, resolve('.'));
  const texts = new Map(pieces.map(({ path, text }) => [resolve('test', basename(path)), text]));
  const real = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...real,
    fileExists: (path) => texts.has(path) || real.fileExists(path),
    readFile: (path) => texts.get(path) ?? real.readFile(path),
    getSourceFile: (path, target, ...rest) => {
      const text = texts.get(path);
      return text === undefined ? real.getSourceFile(path, target, ...rest) : ts.createSourceFile(path, text, target);
    },
  };
  const program = ts.createProgram([...texts.keys()], { ...options, noEmit: true, incremental: false }, host);
  return [...texts.keys()].flatMap((path) =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(path)).map((found) => {
      return `${basename(path)} ${ts.flattenDiagnosticMessageText(found.messageText, ' ')}`;
    }),
  );
}
