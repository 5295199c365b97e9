import { expect, jest, test } from '@jest/globals';
import * as fs from 'node:fs';

const refusal: { errno?: string } = {};

jest.unstable_mockModule('node:fs', () => ({
  ...fs,
  readFileSync: (path: string, encoding: BufferEncoding) => {
    if (refusal.errno && path.startsWith(`/proc/${process.pid}/`)) {
      throw Object.assign(new Error(refusal.errno), { code: refusal.errno });
    }
    return fs.readFileSync(path, encoding);
  },
}));

const { processTable } = await import('./process-table.js');

const own = async () => (await processTable()).find(({ pid }) => pid === process.pid);

test('shows this process', async () => {
  delete refusal.errno;
  expect(await own()).toMatchObject({ parent: process.ppid, zombie: false });
});

test.each(['ENOENT', 'ESRCH', 'EACCES'])('leaves out what has ended or is hidden: %s', async (errno) => {
  refusal.errno = errno;
  expect(await own()).toBeUndefined();
});

test.each(['EMFILE', 'ENFILE', 'ENOMEM'])('takes nothing for ended that could not be looked at: %s', async (errno) => {
  refusal.errno = errno;
  await expect(processTable()).rejects.toMatchObject({ code: 'unavailable', effect: 'unknown' });
});
