import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { format, resolveConfig } from 'prettier';
import { isSpec, repositoryFiles, typeScript } from '../architecture/files.js';
import { apiPage, apiPath, nameOf } from './api-page.js';
import { importedNames } from './imported-names.js';
import { publicApi } from './public-api.js';

/** Set by `tools/docs.mjs`. */
const WRITE = process.env['WRITE_DOCS'] === '1';

const api = publicApi();

describe('the public API', () => {
  const shown = new Map<string, string>();
  const texts = [...api].map(([entry, exports]): [path: string, text: string] => {
    const text = apiPage(entry, exports, new Map(shown));
    for (const { name } of exports) if (!shown.has(name)) shown.set(name, nameOf(entry));
    return [apiPath(entry), text];
  });

  test.each(texts)('%s is what `npm run docs` makes of the types', async (path, page) => {
    const note = '<!-- Made by `npm run docs` from the built types. A change here is a change for users. -->\n\n';
    const text = await format(note + page, { ...(await resolveConfig(path)), parser: 'markdown' });
    if (WRITE) {
      mkdirSync('docs/api', { recursive: true });
      writeFileSync(path, text);
    }
    expect(existsSync(path) && readFileSync(path, 'utf8')).toBe(text);
  });

  test('no report is left of an entry that has gone', () => {
    expect(readdirSync('docs/api').toSorted()).toEqual(
      texts.map(([path]) => path.slice('docs/api/'.length)).toSorted(),
    );
  });

  test.each([...api.keys()])('every export of %s has a docblock', (entry) => {
    const exports = api.get(entry) ?? [];
    expect(exports.length).toBeGreaterThan(0);
    expect(exports.filter(({ hasDocblock }) => !hasDocblock).map(({ name }) => name)).toEqual([]);
  });

  test('every value that is exported is imported by a test', () => {
    const tests = [...typeScript(repositoryFiles())].filter(([path]) => isSpec(path) || path.startsWith('test/'));
    const imported = new Set(tests.flatMap(([path, text]) => importedNames(path, text)));
    const values = [...api.values()].flat().filter(({ isValue }) => isValue);
    expect(values.filter(({ name }) => !imported.has(name)).map(({ name }) => name)).toEqual([]);
  });

  test('a name that is imported under another one counts, a type does not', () => {
    const text = "import { a, b as c, type D } from 'x';\nimport type { E } from 'x';\nimport f from 'x';";
    expect(importedNames('a.ts', text)).toEqual(['a', 'b']);
  });
});

describe('a report', () => {
  const one = { name: 'a', isValue: true, text: 'export declare const a: B;', hasDocblock: true, unexported: ['B'] };

  test('shows a name once, and what it names without exporting it', () => {
    expect(apiPage('.', [one])).toBe(
      '# nestjs-sandbox\n\n## Values\n\n```ts\nexport declare const a: B;\n```\n\n## Named here, exported nowhere\n\n`B`.',
    );
    expect(apiPage('./b', [one], new Map([['a', 'nestjs-sandbox']]))).toBe(
      '# nestjs-sandbox/b\n\nAs `nestjs-sandbox`: `a`.',
    );
  });
});
