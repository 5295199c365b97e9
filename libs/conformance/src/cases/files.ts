import { types } from 'node:util';
import type { ConformanceCase } from '../conformance-case.js';
import { expectFile, expectNothingAt, homeOf, modeOf } from '../errands.js';
import { expectBytes, expectEqual, expectRejection, expectThat } from '../expect.js';
import { ALL_BYTES, BEGINS_LIKE_TEXT, noise } from '../samples.js';

const INVALID = { code: 'invalid', detail: 'argument', effect: 'none' } as const;
const NOT_FOUND = { code: 'not_found', effect: 'none' } as const;

async function* pieces(...all: (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
  yield* all;
}

export const writeFileCases: readonly ConformanceCase[] = [
  {
    id: 'FIL-001',
    title: 'writes bytes of every value, and none at all, exactly',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      for (const content of [ALL_BYTES, new Uint8Array(0), BEGINS_LIKE_TEXT]) {
        await t.adapter.writeFile(handle, 'file', content);
        await expectFile(t, handle, 'file', content);
      }
    },
  },
  {
    id: 'FIL-002',
    title: 'writes text as UTF-8',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'naïve 漢字 🙂\n');
      await expectFile(t, handle, 'file', 'naïve 漢字 🙂\n');
    },
  },
  {
    id: 'FIL-003',
    title: 'makes the parents of a file',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'a/b/c/file', 'deep');
      await expectFile(t, handle, 'a/b/c/file', 'deep');
    },
  },
  {
    id: 'FIL-004',
    title: 'gives a file exactly the mode that was asked for',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      for (const mode of [0o755, 0o600, 0o666, 0o777, 0o444, 0]) {
        const path = `file-${mode}`;
        await t.adapter.writeFile(handle, path, 'content', { mode });
        expectEqual(`mode of ${path}`, await modeOf(t, handle, path), mode);
      }
    },
  },
  {
    id: 'FIL-005',
    title: 'gives a new file 644 and keeps the mode of one that exists',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'new', 'content');
      expectEqual('mode of a new file', await modeOf(t, handle, 'new'), 0o644);
      await t.adapter.writeFile(handle, 'tool', 'one', { mode: 0o755 });
      await t.adapter.writeFile(handle, 'tool', 'two');
      expectEqual('mode of a file that was there', await modeOf(t, handle, 'tool'), 0o755);
      await t.adapter.writeFile(handle, 'tool', 'three', { mode: 0o640 });
      expectEqual('mode asked for of a file that was there', await modeOf(t, handle, 'tool'), 0o640);
    },
  },
  {
    id: 'FIL-006',
    title: 'replaces the whole of a longer file',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'something long');
      await t.adapter.writeFile(handle, 'file', 'short');
      await expectFile(t, handle, 'file', 'short');
    },
  },
  {
    id: 'FIL-007',
    title: 'writes content that comes in pieces',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', pieces('one ', ALL_BYTES, '', ' two'));
      const expected = Buffer.concat([Buffer.from('one '), ALL_BYTES, Buffer.from(' two')]);
      await expectFile(t, handle, 'file', expected);
    },
  },
  {
    id: 'FIL-008',
    title: 'leaves the old file as it was when the content fails to come',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'old');
      async function* failing(): AsyncGenerator<string> {
        yield 'a part';
        throw new Error('no more');
      }
      await expectRejection('writeFile', t.adapter.writeFile(handle, 'file', failing()), {
        code: ['invalid', 'provider', 'write_failed', 'unavailable'],
      });
      if (t.adapter.traits.atomicWrites) {
        await expectFile(t, handle, 'file', 'old');
      }
    },
  },
  {
    id: 'FIL-009',
    title: 'writes 1 MiB exactly, and 9 MiB exactly or not at all',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      const content = (mebibytes: number): Uint8Array => noise(mebibytes * 2 ** 20);
      await t.adapter.writeFile(handle, 'file', content(1));
      await expectFile(t, handle, 'file', content(1));
      let isWritten = true;
      await t.adapter.writeFile(handle, 'file', content(9)).catch(async (error: unknown) => {
        isWritten = false;
        await expectRejection('writeFile of 9 MiB', Promise.reject(error), {
          code: 'invalid',
          detail: 'request_too_large',
          effect: 'none',
        });
      });
      const { output } = await t.exec(handle, t.words.showFile('file'));
      expectBytes('the file', output, content(isWritten ? 9 : 1));
    },
  },
  {
    id: 'FIL-010',
    title: 'refuses to write over a directory or below a file, and leaves both',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'directory/file', 'inside');
      const code = ['write_failed', 'invalid'] as const;
      await expectRejection('writeFile', t.adapter.writeFile(handle, 'directory', 'content'), { code });
      const below = t.adapter.writeFile(handle, 'directory/file/more', 'content');
      await expectRejection('writeFile below a file', below, { code });
      await expectFile(t, handle, 'directory/file', 'inside');
    },
  },
  {
    id: 'FIL-011',
    title: 'refuses a mode that is none, before it writes anything',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      for (const mode of [0o1000, 0o4755, -1, 1.5, Number.NaN, '0644', 0o10000]) {
        const call = t.adapter.writeFile(handle, 'file', 'content', { mode: mode as number });
        await expectRejection(`mode ${String(mode)}`, call, INVALID);
      }
      await expectNothingAt(t, handle, 'file');
    },
  },
  {
    id: 'FIL-012',
    title: 'writes where the command line would, whatever is in the name',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      for (const path of [
        'with space',
        "quo'te",
        '-rf',
        '漢字',
        '*',
        '$HOME',
        'a\\b',
        'new\nline',
        '.hidden',
        ' at both ends ',
      ]) {
        await t.adapter.writeFile(handle, path, path);
        await expectFile(t, handle, path, path);
      }
    },
  },
  {
    id: 'FIL-013',
    title: 'begins relative paths in the home directory, where commands begin',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'here');
      const home = await homeOf(t, handle);
      await expectFile(t, handle, `${home}/file`, 'here');
    },
  },
  {
    id: 'FIL-014',
    title: 'leaves one whole content of several written at once',
    level: 'MUST',
    promise: 'files',
    needs: ['trait:atomicWrites'],
    async run(t) {
      const handle = await t.sandbox();
      const contents = ['a', 'b', 'c', 'd'].map((letter, i) => letter.repeat(50_000 + i * 10_000));
      await Promise.all(contents.map((one) => t.adapter.writeFile(handle, 'file', one)));
      const left = (await t.exec(handle, t.words.showFile('file'))).text();
      expectThat('the file', contents.includes(left), 'one of the contents', `${left.length} characters`);
    },
  },
  {
    id: 'FIL-015',
    title: 'shows the old content or the new to whoever reads meanwhile',
    level: 'MUST',
    promise: 'files',
    needs: ['trait:atomicWrites'],
    async run(t) {
      const handle = await t.sandbox();
      const [old, young] = ['o'.repeat(300_000), 'y'.repeat(200_000)];
      await t.adapter.writeFile(handle, 'file', old);
      for (let round = 0; round < 8; round++) {
        const write = t.adapter.writeFile(handle, 'file', round % 2 ? old : young);
        const seen = (await t.exec(handle, t.words.showFile('file'))).text();
        await write;
        expectThat('the file', seen === old || seen === young, 'one whole content', `${seen.length} characters`);
      }
    },
  },
  {
    id: 'FIL-017',
    title: 'keeps the error of content that fails to come as the cause',
    level: 'SHOULD',
    promise: 'files',
    async run(t) {
      const cause = new Error('the source failed');
      async function* failing(): AsyncGenerator<string> {
        yield 'a part';
        throw cause;
      }
      const call = t.adapter.writeFile(await t.sandbox(), 'file', failing());
      const error = await expectRejection('writeFile', call, {
        code: ['invalid', 'provider', 'write_failed', 'unavailable'],
      });
      expectEqual('whether the cause is the error of the source', error.cause === cause, true);
    },
  },
  {
    id: 'FIL-018',
    title: 'tells with hostPath where a process finds a file',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'sub/file', 'found');
      const home = await homeOf(t, handle);
      for (const path of ['sub/file', `${home}/sub/file`]) {
        const inside = await t.adapter.hostPath(handle, path);
        await expectFile(t, handle, inside, 'found');
      }
    },
  },
];

export const readFileCases: readonly ConformanceCase[] = [
  {
    id: 'RDF-001',
    title: 'reads bytes of every value, and none at all, exactly',
    level: 'MUST',
    promise: 'files',
    needs: ['files'],
    async run(t) {
      const handle = await t.sandbox();
      for (const content of [ALL_BYTES, new Uint8Array(0), BEGINS_LIKE_TEXT, noise(3 * 2 ** 20)]) {
        await t.adapter.writeFile(handle, 'file', content);
        expectBytes('the file', await t.adapter.readFile(handle, 'file'), content);
      }
    },
  },
  {
    id: 'RDF-002',
    title: 'reads what a command wrote',
    level: 'MUST',
    promise: 'files',
    needs: ['files'],
    async run(t) {
      const handle = await t.sandbox();
      await t.exec(handle, t.words.touch('by a command'));
      expectBytes('the file', await t.adapter.readFile(handle, 'by a command'), '');
    },
  },
  {
    id: 'RDF-003',
    title: 'says not_found of a file that is missing, and knows the sandbox all the same',
    level: 'MUST',
    promise: 'files',
    needs: ['files'],
    async run(t) {
      const handle = await t.sandbox();
      await expectRejection('readFile', t.adapter.readFile(handle, 'none'), NOT_FOUND);
      await expectRejection('readFile below', t.adapter.readFile(handle, 'no/such/file'), NOT_FOUND);
      await expectRejection('statFile', t.adapter.statFile(handle, 'none'), NOT_FOUND);
      await expectRejection('listFiles', t.adapter.listFiles(handle, 'none'), NOT_FOUND);
      expectThat('get', (await t.adapter.get(handle)).status !== 'unknown', 'a known status', 'unknown');
    },
  },
  {
    id: 'RDF-004',
    title: 'refuses to read a directory and to list a file',
    level: 'MUST',
    promise: 'files',
    needs: ['files'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'directory/file', 'inside');
      await expectRejection('readFile', t.adapter.readFile(handle, 'directory'), { code: 'invalid', effect: 'none' });
      const list = t.adapter.listFiles(handle, 'directory/file');
      await expectRejection('listFiles', list, { code: 'invalid', effect: 'none' });
    },
  },
  {
    id: 'RDF-005',
    title: 'lists every entry of a directory, and only those',
    level: 'MUST',
    promise: 'files',
    needs: ['files'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'd/file', '12345', { mode: 0o640 });
      await t.adapter.writeFile(handle, 'd/.hidden', '');
      await t.adapter.writeFile(handle, 'd/new\nline', 'x');
      await t.adapter.writeFile(handle, 'd/sub/below', 'not listed');
      const entries = await t.adapter.listFiles(handle, 'd');
      const seen = entries.map(({ name, type }) => `${type} ${name}`).toSorted();
      expectEqual('entries', seen, ['directory sub', 'file .hidden', 'file file', 'file new\nline']);
      const file = entries.find(({ name }) => name === 'file');
      expectEqual('size and mode', [file?.size, file?.mode], [5, 0o640]);
    },
  },
  {
    id: 'RDF-006',
    title: 'lists an empty directory as empty',
    level: 'MUST',
    promise: 'files',
    needs: ['files'],
    async run(t) {
      const handle = await t.sandbox();
      await t.exec(handle, t.words.makeDirectory('empty'));
      expectEqual('entries', await t.adapter.listFiles(handle, 'empty'), []);
    },
  },
  {
    id: 'RDF-007',
    title: 'tells files, directories and links apart, with size, mode and date',
    level: 'MUST',
    promise: 'files',
    needs: ['files'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'd/file', '12345', { mode: 0o604 });
      await t.exec(handle, t.words.link('file', 'd/link'));
      const file = await t.adapter.statFile(handle, 'd/file');
      expectEqual('the file', [file.type, file.size, file.mode], ['file', 5, 0o604]);
      const date = file.modifiedAt;
      expectThat('its date', types.isDate(date) && Number.isFinite(date.getTime()), 'a date', date);
      expectEqual('the directory', (await t.adapter.statFile(handle, 'd')).type, 'directory');
      expectEqual('the link', (await t.adapter.statFile(handle, 'd/link')).type, 'symlink');
      expectBytes('what the link leads to', await t.adapter.readFile(handle, 'd/link'), '12345');
    },
  },
];
