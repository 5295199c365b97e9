import type { OutputFrame } from '#libs/contract';
import type { ConformanceCase } from '../conformance-case.js';
import { expectFile } from '../errands.js';
import { expectBytes, expectEqual } from '../expect.js';
import { noise } from '../samples.js';
import { expectExit, startEcho } from '../session.js';

const MiB = 1024 * 1024;

/** Bytes that were given away stay as they are; bytes that were taken in are the caller's again. */
export const ownershipCases: readonly ConformanceCase[] = [
  {
    id: 'STR-033',
    title: 'leaves the frames that it gave as they are, whatever comes after them',
    level: 'MUST',
    promise: 'bytes',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.copyStdin('stdout'), { stdin: true });
      const frames: OutputFrame[] = [];
      const exit = command.forEach((frame) => void frames.push(frame));
      const content = noise(2 * MiB);
      await command.writeStdin(content);
      await command.closeStdin();
      expectEqual('exit', await exit, { exitCode: 0 });
      expectBytes('all frames', Buffer.concat(frames.map(({ data }) => data)), content);
    },
  },
  {
    id: 'EXE-021',
    title: 'leaves the result of an exec as it is, whatever runs after it',
    level: 'MUST',
    promise: 'bytes',
    async run(t) {
      const handle = await t.sandbox();
      const written = [1, 2, 3].map((seed) => ({ stdout: noise(2000, seed), stderr: noise(500, seed + 10) }));
      const results = [];
      for (const what of written) results.push(await t.exec(handle, t.words.print(what)));
      for (const [i, { stdout, stderr }] of written.entries()) {
        expectBytes(`output of exec ${i}`, results[i]?.output ?? Buffer.of(), stdout);
        if (t.tells.stderrApart) expectBytes(`stderr of exec ${i}`, results[i]?.stderr ?? Buffer.of(), stderr);
      }
    },
  },
  {
    id: 'STD-020',
    title: 'has taken what was written once that was answered: its buffer is the caller’s again',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const { command, reading } = await startEcho(t);
      const buffer = new Uint8Array(10_000);
      for (let round = 0; round < 20; round++) {
        await command.writeStdin(buffer.fill(round));
      }
      buffer.fill(0xff);
      await command.closeStdin();
      await expectExit(reading, 0);
      const rounds = Array.from({ length: 20 }, (_, round) => Buffer.alloc(10_000, round));
      expectBytes('output', reading.stdout, Buffer.concat(rounds));
    },
  },
  {
    id: 'FIL-019',
    title: 'has taken the content of a file once it was written: its buffer is the caller’s again',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      const content = Buffer.from(noise(5000));
      const written = Buffer.from(content);
      await t.adapter.writeFile(handle, 'file', content);
      content.fill(0);
      await expectFile(t, handle, 'file', written);
    },
  },
  {
    id: 'RDF-009',
    title: 'gives bytes of a file that are the caller’s own, and what is in it at that moment',
    level: 'MUST',
    promise: 'files',
    needs: ['files'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'first');
      const first = await t.adapter.readFile(handle, 'file');
      const kept = await t.adapter.readFile(handle, 'file');
      first.fill(0);
      expectBytes(
        'the file when somebody has changed what was read',
        await t.adapter.readFile(handle, 'file'),
        'first',
      );
      await t.adapter.writeFile(handle, 'other', 'words');
      await t.exec(handle, t.words.link('other', 'link'));
      expectBytes('the link', await t.adapter.readFile(handle, 'link'), 'words');
      await t.adapter.writeFile(handle, 'other', 'later');
      expectBytes('the link later', await t.adapter.readFile(handle, 'link'), 'later');
      expectBytes('what was read before', kept, 'first');
    },
  },
];
