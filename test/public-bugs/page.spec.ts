import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { REPOSITORY } from '../support/dist.js';

const ENTRIES = [
  1, 2, 3, 5, 6, 8, 9, 11, 12, 13, 14, 15, 17, 18, 19, 20, 22, 23, 25, 26, 27, 28, 30, 31, 32, 33, 34, 36, 37, 40, 41,
  43, 45, 46, 47, 50, 52, 54, 55, 58, 59, 61, 62, 64, 65, 66, 68, 70, 71, 74, 76, 77, 79, 81, 82, 84, 86,
];
const DIRECTORY = 'test/public-bugs';
const OPEN = '(open: ';

interface Reference {
  readonly file: string;
  readonly title: string;
}

const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');

const [introduction = '', ...rest] = read('docs/public-bugs.md').split(/^## /m);
/** The entries of the page: their numbers and what stands below each. */
const sections = rest.map((text) => ({ entry: Number.parseInt(text, 10), text, references: referencesOf(text) }));

function referencesOf(text: string): Reference[] {
  return [...text.matchAll(/^- `([^`]+)`: “(.+)”$/gm)].map(([, file = '', title = '']) => ({ file, title }));
}

/** Whether every part of a title, the blocks around it included, stands in its file as a string of its own. */
function stands({ file, title }: Reference): boolean {
  if (!existsSync(join(REPOSITORY, file))) return false;
  const text = read(file);
  return title.split(' › ').every((part) => ["'", '"', '`'].some((quote) => text.includes(quote + part + quote)));
}

/** The specs beside this one. */
function ownFiles(): string[] {
  return readdirSync(join(REPOSITORY, DIRECTORY))
    .filter((name) => name.endsWith('spec.ts') && name !== 'page.spec.ts')
    .map((name) => `${DIRECTORY}/${name}`);
}

/** The titles in them that begin with the number of an entry. */
function ownTitles(): (Reference & { readonly entry: number })[] {
  return ownFiles().flatMap((file) =>
    Array.from(read(file).matchAll(/(['"`])(bug (\d+): .*)\1/g)).map(([, , title = '', entry]) => ({
      file,
      title,
      entry: Number(entry),
    })),
  );
}

describe('the page of public bug reports', () => {
  test('has every entry once', () => {
    expect(ENTRIES).toHaveLength(57);
    expect(sections.map(({ entry }) => entry)).toEqual(ENTRIES);
  });

  test('names for every entry where it was reported and a test that holds it', () => {
    const bare = sections.filter(({ text, references }) => {
      const held = references.filter(({ title }) => !title.includes(OPEN));
      return !/^Reported as .*#\d+/m.test(text) || held.length === 0;
    });
    expect(bare.map(({ entry }) => entry)).toEqual([]);
  });

  test('names tests that there are', () => {
    const absent = sections.flatMap(({ entry, references }) =>
      references.filter((reference) => !stands(reference)).map(({ file, title }) => `${entry} ${file} ${title}`),
    );
    expect(absent).toEqual([]);
  });

  test('names every test that is named for an entry, at that entry', () => {
    const titles = ownTitles();
    expect(titles.length).toBeGreaterThan(40);
    const unnamed = titles.filter(({ file, title, entry }) => {
      const section = sections.find((one) => one.entry === entry);
      return !section?.references.some((reference) => reference.file === file && reference.title === title);
    });
    expect(unnamed).toEqual([]);
  });

  test('says what is missing for every entry of which a test is known to fail, and for no other', () => {
    const said = [...introduction.matchAll(/^\| (\d+) +\| (.*?) +\|$/gm)].map(([, entry, missing]) => [
      Number(entry),
      missing,
    ]);
    const known = new Map<number, string | undefined>(
      ownFiles()
        .flatMap((file) => Array.from(read(file).matchAll(/test\.failing\(\s*'bug (\d+): .* \(open: (.*)\)'/g)))
        .map(([, entry, missing]) => [Number(entry), missing] as const),
    );
    expect(said).toEqual(Array.from(known).toSorted(([a], [b]) => a - b));
    expect(ownTitles().filter(({ title, entry }) => title.includes(OPEN) && !known.has(entry))).toEqual([]);
  });
});
