import { describe, expect, test } from '@jest/globals';
import { example, repositoryFiles, sources } from './files.js';
import { codeLines, sizes } from './sizes.js';

describe('the sizes of files', () => {
  const { median, p90, largest } = sizes(sources(repositoryFiles()));

  test(`half of the files have fewer than 60 lines (median ${median})`, () => {
    expect(median).toBeLessThan(60);
  });

  test(`nine in ten files have fewer than 150 lines (p90 ${p90})`, () => {
    expect(p90).toBeLessThan(150);
  });

  test(`no file has more than 400 lines (largest ${largest.lines}, ${largest.path})`, () => {
    expect(largest.lines).toBeLessThanOrEqual(400);
  });

  test('blank lines and comments do not count, lines inside a template do', () => {
    const text = ['/** doc', ' * more', ' */', '', 'const a = `1', '', '2`; // end', '// last', 'f(', ');', ''].join(
      '\n',
    );
    expect(codeLines('a.ts', text)).toBe(5);
  });

  test('median, ninth tenth and largest are those of the files in order', () => {
    const files = example(Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`${i}.ts`, 'a;\n'.repeat(i + 1)])));
    expect(sizes(files)).toEqual({ median: 5, p90: 9, largest: { path: '9.ts', lines: 10 } });
  });
});
