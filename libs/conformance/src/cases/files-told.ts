import { types } from 'node:util';
import type { ConformanceCase } from '../conformance-case.js';
import { expectEqual, expectRejection, expectThat } from '../expect.js';

const NOT_FOUND = { code: 'not_found', effect: 'none' } as const;
/** Clocks of machines differ, by less than this. */
const CLOCKS_MS = 600_000;

/** What stat and a listing tell of files. */
export const fileTellingCases: readonly ConformanceCase[] = [
  {
    id: 'RDF-011',
    title: 'tells the size of a file in bytes and its date in this time, alone and in a listing',
    level: 'MUST',
    promise: 'files',
    needs: ['files'],
    async run(t) {
      const handle = await t.sandbox();
      const content = 'é€😀';
      const beforeMs = Date.now();
      await t.adapter.writeFile(handle, 'd/file', content);
      const [listed] = await t.adapter.listFiles(handle, 'd');
      for (const told of [await t.adapter.statFile(handle, 'd/file'), listed]) {
        expectEqual('size', told?.size, Buffer.byteLength(content));
        const date = told?.modifiedAt;
        const isNow =
          types.isDate(date) && date.getTime() > beforeMs - CLOCKS_MS && date.getTime() < Date.now() + CLOCKS_MS;
        expectThat('modifiedAt', isNow, 'a date of these minutes', date);
      }
    },
  },
  {
    id: 'RDF-012',
    title: 'lists a link that leads nowhere, and every other entry beside it',
    level: 'MUST',
    promise: 'files',
    needs: ['files'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'd/file', 'x');
      await t.exec(handle, t.words.link('nowhere', 'd/link'));
      const entries = (await t.adapter.listFiles(handle, 'd')).map(({ name, type }) => `${type} ${name}`);
      expectEqual('entries', entries.toSorted(), ['file file', 'symlink link']);
      expectEqual('the link', (await t.adapter.statFile(handle, 'd/link')).type, 'symlink');
      await expectRejection('readFile', t.adapter.readFile(handle, 'd/link'), NOT_FOUND);
    },
  },
];
