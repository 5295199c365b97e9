import { deepStrictEqual, rejects, strictEqual } from 'node:assert/strict';
import type { Check } from './check.js';
import type { DaytonaBench } from './daytona-bench.js';

export function fileChecks({ sandbox }: DaytonaBench): readonly Check[] {
  const files = sandbox.fs;
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  return [
    {
      title: 'a file keeps every byte, and its parents are made',
      run: async () => {
        await files.uploadFile(bytes, 'deep/er/bytes');
        deepStrictEqual(await files.downloadFile('deep/er/bytes'), bytes);
        const chunks: Buffer[] = [];
        for await (const chunk of await files.downloadFileStream('deep/er/bytes')) chunks.push(chunk as Buffer);
        deepStrictEqual(Buffer.concat(chunks), bytes);
      },
    },
    {
      title: 'a command finds it under HOME',
      run: async () => {
        const { result } = await sandbox.process.executeCommand('wc -c <"$HOME/deep/er/bytes"');
        strictEqual(result.trim(), '256');
      },
    },
    {
      title: 'several files are uploaded at once',
      run: async () => {
        await files.uploadFiles([
          { source: Buffer.from('one'), destination: 'many/1' },
          { source: Buffer.from('two'), destination: '/home/daytona/many/2' },
        ]);
        deepStrictEqual(
          (await files.listFiles('many')).map(({ name, isDir }) => [name, isDir]),
          [
            ['1', false],
            ['2', false],
          ],
        );
      },
    },
    {
      title: 'a file is given a mode and moved',
      run: async () => {
        await files.setFilePermissions('many/1', { mode: '0600' });
        await files.moveFiles('many/1', 'many/moved');
        const { size, permissions } = await files.getFileDetails('many/moved');
        deepStrictEqual([size, permissions], [3, '0600']);
        await rejects(files.moveFiles('many/moved', 'many/2'), { statusCode: 409 });
      },
    },
    {
      title: 'files and directories are deleted',
      run: async () => {
        await files.deleteFile('many/moved');
        await rejects(files.deleteFile('many'), { statusCode: 400 });
        await files.deleteFile('many', true);
        await rejects(files.listFiles('many'), { name: 'DaytonaFileNotFoundError' });
      },
    },
    {
      title: 'what is missing says so by its code',
      run: async () => {
        await rejects(files.getFileDetails('none'), { name: 'DaytonaFileNotFoundError', statusCode: 404 });
        await rejects(files.downloadFile('none'), { name: 'DaytonaFileNotFoundError' });
      },
    },
  ];
}
