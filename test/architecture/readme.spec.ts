import { resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import ts from 'typescript';
import { repositoryFiles } from './files.js';

/** What the compiler says of TypeScript that stands in a text, as if each piece were a file of this repository. */
function compile(pieces: readonly string[]): string[] {
  const tsconfig = JSON.parse(repositoryFiles().get('tsconfig.json') ?? '{}') as object;
  const { options } = ts.parseJsonConfigFileContent(tsconfig, ts.sys, resolve('.'));
  const texts = new Map(pieces.map((text, index) => [resolve(`test/readme-${index + 1}.ts`), text]));
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
      return `${path.replace(/.*readme-/, 'piece ')} ${ts.flattenDiagnosticMessageText(found.messageText, ' ')}`;
    }),
  );
}

describe('the README', () => {
  const text = repositoryFiles().get('README.md') ?? '';
  const pieces = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, piece = '']) => piece);

  test('shows code that compiles against the sources', () => {
    expect(pieces.length).toBeGreaterThan(0);
    expect(compile(pieces)).toEqual([]);
  });

  test('code that uses what is not exported is found', () => {
    expect(compile(["import { Nothing } from 'nestjs-sandbox';\nnew Nothing();"])).toEqual([
      expect.stringContaining("has no exported member 'Nothing'"),
    ]);
  });

  test('links only to files that are there', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = '']) => path);
    const paths = [...repositoryFiles().keys()];
    expect(links.filter((link) => !paths.some((path) => path === link || path.startsWith(`${link}/`)))).toEqual([]);
  });
});
