import { basename, posix, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import ts from 'typescript';
import { pages, snippets, type Snippet } from '../support/snippets.js';
import { repositoryFiles } from './files.js';

/** What the compiler says of TypeScript that stands in a text, as if the pieces were files of this repository. */
function compile(pieces: readonly Snippet[]): string[] {
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

describe('the README and the guides', () => {
  const texts = pages();

  test('show code that compiles against the sources', () => {
    const pieces = snippets(texts.values());
    expect(pieces.length).toBeGreaterThan(0);
    expect(compile(pieces)).toEqual([]);
  });

  test('code that uses what is not exported is found', () => {
    expect(compile([{ path: 'src/a.ts', text: "import { Nothing } from 'nestjs-sandbox';\nnew Nothing();" }])).toEqual([
      expect.stringContaining("has no exported member 'Nothing'"),
    ]);
  });

  test.each([
    ['without a name', '```ts\nconst a = 1;\n```\n', 'does not begin with its name'],
    ['of a name that another has', '```ts\n// src/a.ts\n```\n\n```ts\n// src/a.ts\n```\n', 'two blocks are src/a.ts'],
  ])('a block %s is found', (_, page, message) => {
    expect(() => snippets([page])).toThrow(message);
  });

  test('link only to files that are there', () => {
    const paths = [...repositoryFiles().keys()];
    const links = [...texts].flatMap(([page, text]) =>
      [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = '']) => posix.join(posix.dirname(page), path)),
    );
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((link) => !paths.some((path) => path === link || path.startsWith(`${link}/`)))).toEqual([]);
  });
});
