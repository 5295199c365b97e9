import { deepStrictEqual, rejects, strictEqual } from 'node:assert/strict';
import type { Check } from './check.js';
import type { SpritesBench } from './sprites-bench.js';

export function fileChecks({ sprite }: SpritesBench): readonly Check[] {
  const files = sprite.filesystem('/home/sprite');
  return [
    {
      title: 'a file keeps every byte and the mode it was given',
      run: async () => {
        const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
        await files.writeFile('deep/er/bytes', bytes, { mode: 0o600 });
        deepStrictEqual(await files.readFile('/home/sprite/deep/er/bytes'), bytes);
        const { size, mode } = await files.stat('deep/er/bytes');
        deepStrictEqual([size, mode], [256, 0o600]);
      },
    },
    {
      title: 'a command finds it under HOME',
      run: async () => {
        const { stdout } = await sprite.execFile('sh', ['-c', 'wc -c <"$HOME/deep/er/bytes"']);
        strictEqual(stdout.trim(), '256');
      },
    },
    {
      title: 'directories are made, listed and removed',
      run: async () => {
        await files.mkdir('tree/below', { recursive: true });
        await files.writeFile('tree/a', 'a');
        deepStrictEqual(await files.readdir('tree'), ['a', 'below']);
        await rejects(files.rm('tree'), { code: 'ENOTEMPTY' });
        await files.rm('tree', { recursive: true });
        strictEqual(await files.exists('tree'), false);
      },
    },
    {
      title: 'files are copied, renamed and given another mode',
      run: async () => {
        await files.writeFile('one', 'text');
        await files.copyFile('one', 'two');
        await files.rename('two', 'three');
        await files.chmod('three', 0o400);
        deepStrictEqual([await files.readFile('three', 'utf8'), (await files.stat('three')).mode], ['text', 0o400]);
        strictEqual(await files.exists('two'), false);
      },
    },
    {
      title: 'what is missing or no file says so by its code',
      run: async () => {
        await rejects(files.readFile('none'), { name: 'FilesystemError', code: 'ENOENT' });
        await rejects(files.readFile('deep'), { name: 'FilesystemError', code: 'EISDIR' });
        await rejects(files.readFile('one/x'), { code: 'ENOTDIR' });
      },
    },
  ];
}
