import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { format, resolveConfig } from 'prettier';
import { conformancePage } from './conformance-page.js';
import { errorsPage } from './errors-page.js';
import { settingDocs } from './setting-docs.js';
import { docFaults, SETTINGS_CLASSES, settingsIn, type KnownSetting } from './settings.js';
import { settingsPage } from './settings-page.js';
import { spaced, table } from './table.js';

/** Set by `tools/docs.mjs`. */
const WRITE = process.env['WRITE_DOCS'] === '1';

describe('generated pages', () => {
  test.each([
    ['docs/conformance.md', conformancePage],
    ['docs/ERRORS.md', errorsPage],
    ['docs/SETTINGS.md', settingsPage],
  ])('%s is what `npm run docs` makes of the code', async (path, page) => {
    const config = await resolveConfig(path);
    const note = '<!-- Made by `npm run docs`: edit the code that it describes. -->\n\n';
    const text = await format(note + page(), { ...config, parser: 'markdown' });
    if (WRITE) writeFileSync(path, text);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});

describe('docblocks of settings', () => {
  test.each(SETTINGS_CLASSES)('of $module say what the code does', (one) => {
    const settings = settingsIn(one);
    expect(settings.length).toBeGreaterThan(0);
    expect(settings.flatMap(docFaults)).toEqual([]);
  });

  const sound: KnownSetting = {
    key: 'a',
    environment: 'A_MS',
    byDefault: 40_000,
    least: 1,
    most: 2,
    doc: { text: 'Waits.', environment: 'A_MS', byDefault: '40 000' },
  };

  test.each<[fault: string, change: Partial<KnownSetting>]>([
    ['a is not described', { doc: undefined }],
    ['a is set by B, not by A_MS', { environment: 'B' }],
    ['a is 40 001 by default, not 40 000', { byDefault: 40_001 }],
    ['a is none by default, not 40 000', { byDefault: undefined }],
  ])('“%s” is found', (fault, change) => {
    expect(docFaults(sound)).toEqual([]);
    expect(docFaults({ ...sound, ...change })).toEqual([fault]);
  });

  test('are read without the sentence about the environment', () => {
    const text = `
      class A {
        /** For a reply, in
         *  seconds. Environment: \`A_MS\`. @default 30 000 */
        @Setting('A_MS', 'number')
        @IsInt()
        readonly a: number = 30_000;
        /** Not a setting. */
        readonly b = 1;
      }`;
    expect([...settingDocs('a.ts', text)]).toEqual([
      ['a', { text: 'For a reply, in seconds.', environment: 'A_MS', byDefault: '30 000' }],
    ]);
  });
});

test('a table escapes what would end a cell', () => {
  expect(table(['a', 'b'], [['x|y', '1\n2']])).toBe('| a | b |\n| --- | --- |\n| x\\|y | 1 2 |');
});

test('numbers are grouped from the right', () => {
  expect([1, 999, 1_000, 86_400_000].map(spaced)).toEqual(['1', '999', '1 000', '86 400 000']);
});
