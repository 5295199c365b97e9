import type { ConformanceCase } from '../conformance-case.js';
import { expectFile } from '../errands.js';
import { expectEqual } from '../expect.js';
import { expectPattern, noise } from '../samples.js';
import { startSession } from '../session.js';
import { readPattern } from '../standstill.js';

const KiB = 1024;
const MiB = 1024 * KiB;

/** Where frames, requests, windows and segments end. */
const BOUNDARIES = [64 * KiB, 256 * KiB, MiB, 4 * MiB];
/** Behind the last of them. */
const MORE = 100_000;
/** Files that are written at once. */
const AT_ONCE = 25;

/** Sizes and numbers at which an implementation begins with another piece. */
export const boundaryCases: readonly ConformanceCase[] = [
  {
    id: 'ATT-028',
    title: 'begins at the byte that was asked for also around 64 KiB, 256 KiB, 1 MiB and 4 MiB',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const bytes = Math.max(...BOUNDARIES) + MORE;
      const command = await t.spawn(handle, t.words.lines(bytes), { detachable: true });
      expectEqual('exit', await command.drain(), { exitCode: 0 });
      for (const stdout of BOUNDARIES.flatMap((one) => [one - 1, one, one + 1])) {
        const from = { stdout };
        const joined = await t.attach(handle, t.sessionId(command), { from });
        const replay = readPattern(t, joined, { from });
        await replay.until(`some bytes from ${stdout} on`, () => replay.bytes >= MORE / 2);
        await joined.stop();
      }
    },
  },
  {
    id: 'SES-016',
    title: 'lists two dozen sessions, each once',
    level: 'MUST',
    promise: 'sessions',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const started = await Promise.all(Array.from({ length: 24 }, () => startSession(t, handle, t.words.stay())));
      const listed = (await t.adapter.listSessions(handle)).map(({ id }) => id);
      expectEqual('ids', listed.toSorted(), started.map(({ id }) => id).toSorted());
    },
  },
  {
    id: 'LIM-018',
    title: 'takes more than 16 MiB of output when it is told to',
    level: 'SHOULD',
    promise: 'deadlines',
    async run(t) {
      const bytes = 17 * MiB;
      const { output } = await t.exec(await t.sandbox(), t.words.lines(bytes), { maxOutputBytes: bytes });
      expectEqual('bytes', output.byteLength, bytes);
      expectPattern(output, 0);
    },
  },
  {
    id: 'FIL-016',
    title: 'writes a megabyte that comes in pieces of every size',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      const content = noise(MiB);
      async function* pieces(): AsyncGenerator<Uint8Array> {
        let at = 0;
        for (const size of [1, 64 * KiB - 1, 64 * KiB, 64 * KiB + 1, 256 * KiB + 1, MiB]) {
          yield content.subarray(at, at + size);
          at += size;
        }
      }
      await t.adapter.writeFile(handle, 'file', pieces());
      await expectFile(t, handle, 'file', content);
    },
  },
  {
    id: 'RDF-008',
    title: 'lists every entry of a directory that has more than a thousand',
    level: 'MUST',
    promise: 'files',
    needs: ['files'],
    timeoutMs: 120_000,
    async run(t) {
      const handle = await t.sandbox();
      const names = Array.from({ length: Math.max(AT_ONCE, t.volume(1_100)) }, (_, i) => `file-${i}`);
      for (let at = 0; at < names.length; at += AT_ONCE) {
        const some = names.slice(at, at + AT_ONCE);
        await Promise.all(some.map((name) => t.adapter.writeFile(handle, `many/${name}`, name)));
      }
      const listed = (await t.adapter.listFiles(handle, 'many')).map(({ name }) => name);
      expectEqual('names', listed.toSorted(), names.toSorted());
    },
  },
];
