import { deepStrictEqual, rejects, strictEqual } from 'node:assert/strict';
import type { Check } from './check.js';
import type { E2bBench } from './e2b-bench.js';

export function fileChecks({ sandbox }: E2bBench): readonly Check[] {
  const { files, commands } = sandbox;
  return [
    {
      title: 'a file keeps every byte, and its parents are made',
      run: async () => {
        const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => (at * 7) % 256);
        const { path } = await files.write('deep/er/bytes', bytes.buffer);
        strictEqual(path, '/home/user/deep/er/bytes');
        deepStrictEqual(Buffer.from(await files.read(path, { format: 'bytes' })), Buffer.from(bytes));
        strictEqual((await files.getInfo(path)).size, 300_000);
      },
    },
    {
      title: 'a stream is written raw',
      run: async () => {
        await files.write('streamed', new Blob(['one ', 'two']).stream());
        strictEqual(await files.read('streamed'), 'one two');
      },
    },
    {
      title: 'a command finds it under HOME',
      run: async () => strictEqual((await commands.run('wc -c <"$HOME/deep/er/bytes"')).stdout.trim(), '300000'),
    },
    {
      title: 'directories are made, listed, renamed and removed',
      run: async () => {
        strictEqual(await files.makeDir('tree/below'), true);
        strictEqual(await files.makeDir('tree/below'), false);
        await files.write('tree/a', '');
        const listed = (await files.list('tree')).map(({ name, type, size }) => [name, type, size]);
        deepStrictEqual(
          listed.map(([name, type]) => [name, type]),
          [
            ['a', 'file'],
            ['below', 'dir'],
          ],
        );
        strictEqual(listed[0]![2], 0);
        await files.rename('tree/a', 'tree/b');
        deepStrictEqual([await files.exists('tree/a'), await files.exists('tree/b')], [false, true]);
        await files.remove('tree');
        strictEqual(await files.exists('tree'), false);
      },
    },
    {
      title: 'what is missing or no file says so',
      run: async () => {
        await rejects(files.read('none'), { name: 'FileNotFoundError' });
        await rejects(files.read('deep'), { name: 'InvalidArgumentError' });
        await rejects(files.list('none'), { name: 'FileNotFoundError' });
      },
    },
  ];
}
