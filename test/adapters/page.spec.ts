import { readFileSync } from 'node:fs';
import { basename, join, posix } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { ALL_CASES, conformancePlan, runCase, type ConformanceCase } from 'nestjs-sandbox/conformance';
import { repositoryFiles } from '../architecture/files.js';
import { compileSnippets } from '../support/compile-snippets.js';
import { REPOSITORY } from '../support/dist.js';
import { blocks } from '../support/snippets.js';
import { LocalAdapter } from './local.adapter.js';
import { localSubject } from './local.subject.js';
import { adaptersPage, filesIn } from './page-files.js';

/** Of the page's files those that are in this repository too, and run here. */
const HERE = ['local.errors.ts', 'local.adapter.ts', 'local.process.ts', 'local.subject.ts'];

const page = adaptersPage();
const { subject, close } = await localSubject();
afterAll(() => close());

describe('the page about adapters', () => {
  test.each(HERE)('shows %s as it is', (name) => {
    const shown = filesIn(page).find(({ path }) => basename(path) === name);
    expect(shown?.text).toBe(readFileSync(join(REPOSITORY, 'test/adapters', name), 'utf8'));
  });

  test('shows code that compiles against the sources', () => {
    expect(compileSnippets(filesIn(page))).toEqual([]);
  });

  test.each([
    ['of no file', '```ts\nconst a = 1;\n```\n'],
    ['that continues nothing', '```ts\n// src/a.ts, continued\n```\n'],
    ['of a file that has begun', '```ts\n// src/a.ts\n```\n\n```ts\n// src/a.ts\n```\n'],
  ])('may not have a block %s', (_, text) => {
    expect(() => filesIn(text)).toThrow('out of turn');
  });

  test('names every reason for which a case does not run on the example', () => {
    const reasons = new Set(conformancePlan(subject).flatMap(({ notRun }) => notRun ?? []));
    expect(blocks(page, 'text')[0]?.trim().split('\n')).toEqual([...reasons]);
  });

  test('shows the failure of an adapter that swallows the error of a listing', async () => {
    class Forgetful extends LocalAdapter {
      protected override doListAllNames(): Promise<string[]> {
        return super.doListAllNames().catch(() => []);
      }
    }
    const one = ALL_CASES.find(({ id }) => id === 'FLT-034') as ConformanceCase;
    const { subject: fresh, ...more } = await localSubject();
    const run = runCase({ ...fresh, adapter: new Forgetful(more.options) }, one);
    const failure: unknown = await run.catch((error: Error) => error.message);
    await more.close();
    const timeless = (text: string): string => text.replaceAll(/\+\d+ ms/g, '+0 ms');
    expect(timeless(String(failure))).toBe(timeless(blocks(page, 'text')[1]?.trim() ?? ''));
  });

  test('links only to files that are there', () => {
    const paths = new Set(repositoryFiles().keys());
    const links = [...page.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = '']) => posix.join('docs', path));
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((link) => !paths.has(link))).toEqual([]);
  });
});
