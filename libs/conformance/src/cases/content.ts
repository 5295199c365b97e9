import type { ConformanceCase } from '../conformance-case.js';
import { expectFile } from '../errands.js';
import { expectBytes, expectEqual, expectRejection } from '../expect.js';
import { closedGate } from '../gate.js';

const GIVEN_UP = { code: ['not_found', 'unavailable', 'write_failed', 'provider', 'invalid'] } as const;

/** Content whose second piece comes when it is let. */
function heldContent(): { content: AsyncGenerator<string>; begun: Promise<void>; goOn: () => void } {
  const [begun, held] = [closedGate(), closedGate()];
  async function* content(): AsyncGenerator<string> {
    yield 'a part';
    begun.open();
    await held.opened;
    yield 'the rest';
  }
  return { content: content(), begun: begun.opened, goOn: () => held.open() };
}

/** Content without an end of its own, which counts how often it was asked for. */
class Endless implements AsyncIterable<string> {
  asked = 0;
  isReleased = false;
  isOver = false;

  [Symbol.asyncIterator](): AsyncIterator<string> {
    return {
      next: async () => {
        this.asked += 1;
        await new Promise((resolve) => setImmediate(resolve));
        return this.isOver ? { done: true, value: undefined } : { done: false, value: 'more' };
      },
      return: async () => {
        this.isReleased = true;
        return { done: true, value: undefined };
      },
    };
  }
}

/** What becomes of a file, and of its content, when the write does not come to its end. */
export const contentCases: readonly ConformanceCase[] = [
  {
    id: 'LIF-014',
    title: 'writes nothing where the sandbox was destroyed while the content came, and makes none',
    level: 'MUST',
    promise: 'destroy',
    async run(t) {
      const handle = await t.sandbox();
      const { content, begun, goOn } = heldContent();
      const rejection = expectRejection('writeFile', t.adapter.writeFile(handle, 'file', content), GIVEN_UP);
      await begun;
      await t.adapter.destroy(handle);
      goOn();
      await t.within('the end of the write', 10_000, rejection);
      await expectRejection('get', t.adapter.get(handle), { code: 'not_found', effect: 'none' });
    },
  },
  {
    id: 'FIL-020',
    title: 'leaves the old file as it was when the write is aborted while its content comes',
    level: 'MUST',
    promise: 'files',
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'old');
      const { content, begun, goOn } = heldContent();
      const over = new AbortController();
      const reason = new Error('given up');
      const call = t.adapter.writeFile(handle, 'file', content, { signal: over.signal });
      const rejection = expectRejection('writeFile', call, { code: 'aborted', effect: ['none', 'unknown'] });
      await begun;
      over.abort(reason);
      const { cause, effect } = await t.within('the abort', 5_000, rejection);
      expectEqual('whether the cause is the reason', cause === reason, true);
      goOn();
      if (effect === 'none' || t.adapter.traits.atomicWrites) await expectFile(t, handle, 'file', 'old');
    },
  },
  {
    id: 'FIL-021',
    title: 'asks for no more content when the write is over, and lets go of it',
    level: 'SHOULD',
    promise: 'files',
    async run(t) {
      const content = new Endless();
      t.defer(() => (content.isOver = true));
      const over = new AbortController();
      const call = t.adapter.writeFile(await t.sandbox(), 'file', content, { signal: over.signal });
      const rejection = expectRejection('writeFile', call, { code: 'aborted' });
      await t.eventually('the first pieces', () => content.asked > 2 || undefined);
      over.abort();
      await t.within('the abort', 5_000, rejection);
      await t.eventually('that the content is let go of', () => content.isReleased || undefined);
    },
  },
  {
    id: 'RDF-010',
    title: 'leaves nothing beside a file that was written, or was not',
    level: 'MUST',
    promise: 'files',
    needs: ['files'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'd/file', 'written');
      const namesIn = async (path: string): Promise<string> =>
        (await t.adapter.listFiles(handle, path)).map(({ name }) => name).join();
      const atHome = await namesIn('.');
      const failing = (async function* (): AsyncGenerator<string> {
        yield 'a part';
        throw new Error('no more');
      })();
      await expectRejection('writeFile', t.adapter.writeFile(handle, 'd/file', failing), GIVEN_UP);
      await t.eventually('that nothing else is there', async () => {
        return ((await namesIn('d')) === 'file' && (await namesIn('.')) === atHome) || undefined;
      });
    },
  },
  {
    id: 'PRO-019',
    title: 'gives the result of a command that has ended while the source of its stdin still has more to come',
    level: 'MUST',
    promise: 'processes',
    async run(t) {
      const { content } = heldContent();
      const call = t.exec(await t.sandbox(), t.words.print({ stdout: 'done', exitCode: 4 }), { stdin: content });
      const { exitCode, output } = await t.within('the result', 10_000, call);
      expectEqual('exit code', exitCode, 4);
      expectBytes('output', output, 'done');
    },
  },
  {
    id: 'PRO-020',
    title: 'lets go of the source of stdin when the command has ended',
    level: 'SHOULD',
    promise: 'processes',
    async run(t) {
      const stdin = new Endless();
      t.defer(() => (stdin.isOver = true));
      const { exitCode } = await t.exec(await t.sandbox(), t.words.print({ exitCode: 4 }), { stdin });
      expectEqual('exit code', exitCode, 4);
      await t.eventually('that the source is let go of', () => stdin.isReleased || undefined);
    },
  },
];
