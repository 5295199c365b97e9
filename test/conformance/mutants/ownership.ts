import { execResult, type SandboxHandle } from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake, withChannel, withExecResults, withFrames } from './making.js';
import type { Mutant } from './mutant.js';

const RING_BYTES = 512 * 1024;

export const ownershipMutants: readonly Mutant[] = [
  {
    name: 'frames in a ring',
    defect: 'Frames are views of a ring that is written over after half a megabyte.',
    caughtBy: ['STR-033'],
    make: () => {
      const ring = new Uint8Array(RING_BYTES);
      let end = 0;
      return fake(
        withFrames((item, pass) => {
          if (item.type === 'exit') return pass(item);
          const { byteLength } = item.data;
          const at = end + byteLength > RING_BYTES ? 0 : end;
          end = at + byteLength;
          ring.set(item.data, at);
          pass({ ...item, data: ring.subarray(at, end) });
        }),
      );
    },
  },
  {
    name: 'one buffer for all results',
    defect: 'The output of an exec is a view of a buffer that the next one fills.',
    caughtBy: ['EXE-021'],
    make: () => {
      const buffer = new Uint8Array(RING_BYTES);
      return fake(
        withExecResults((result) => {
          if (result.output.byteLength > RING_BYTES) return result;
          buffer.set(result.output);
          return execResult({ ...result, output: buffer.subarray(0, result.output.byteLength) });
        }),
      );
    },
  },
  {
    name: 'answers before it writes',
    defect: 'A write to stdin is answered when the one before it was taken.',
    caughtBy: ['STD-020'],
    make: () =>
      fake(
        withChannel((channel) => {
          let last = Promise.resolve();
          return {
            write(data) {
              const before = last;
              last = before.then(later).then(() => channel.write(data));
              last.catch(() => {});
              return before;
            },
            closeStdin: () => last.then(() => channel.closeStdin()),
          };
        }),
      ),
  },
  {
    name: 'writes once more',
    defect: 'A file is written again a turn after the call has ended.',
    caughtBy: ['FIL-019'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doWriteFile(
            ...given: Parameters<TargetFake['doWriteFile']>
          ): ReturnType<TargetFake['doWriteFile']> {
            await super.doWriteFile(...given);
            queueMicrotask(() => setImmediate(() => void super.doWriteFile(...given).catch(() => {})));
          }
          /** Nothing is read before that. */
          protected override async doExec(
            ...given: Parameters<TargetFake['doExec']>
          ): ReturnType<TargetFake['doExec']> {
            await later();
            await later();
            return super.doExec(...given);
          }
        },
      ),
  },
  {
    name: 'one copy for all readers',
    defect: 'What was read of a file is kept, and given to the next reader as it is by then.',
    caughtBy: ['RDF-009'],
    make: () =>
      fake(
        class extends TargetFake {
          readonly #given = new Map<string, Uint8Array>();
          protected override async doReadFile(
            ...[handle, path, options]: [SandboxHandle, string, object?]
          ): Promise<Uint8Array> {
            const content = await super.doReadFile(handle, path, options);
            const given = this.#given.get(`${handle.name}/${path}`);
            if (given?.byteLength === content.byteLength) return given;
            this.#given.set(`${handle.name}/${path}`, content);
            return content;
          }
        },
      ),
  },
];

function later(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
