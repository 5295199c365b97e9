import { posix } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { compileSnippets } from '../support/compile-snippets.js';
import { pages, snippets } from '../support/snippets.js';
import { repositoryFiles } from './files.js';

describe('the README and the guides', () => {
  const texts = pages();

  test('show code that compiles against the sources', () => {
    const pieces = snippets(texts.values());
    expect(pieces.length).toBeGreaterThan(0);
    expect(compileSnippets(pieces)).toEqual([]);
  });

  test('code that uses what is not exported is found', () => {
    expect(
      compileSnippets([{ path: 'src/a.ts', text: "import { Nothing } from 'nestjs-sandbox';\nnew Nothing();" }]),
    ).toEqual([expect.stringContaining("has no exported member 'Nothing'")]);
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
