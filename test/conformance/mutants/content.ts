import {
  SandboxError,
  type ExecRequest,
  type ExecResult,
  type SandboxHandle,
  type WriteFileRequest,
} from '#libs/contract';
import { TargetFake, type FakeKind } from '../targets/fake.js';
import { fake, withExecRequests } from './making.js';
import type { Mutant } from './mutant.js';

type Pieces = Exclude<WriteFileRequest['content'], Uint8Array>;
type Write = (request: WriteFileRequest) => Promise<void>;

export const contentMutants: readonly Mutant[] = [
  {
    name: 'makes what went meanwhile',
    defect: 'A write whose sandbox goes while its content comes makes it again.',
    caughtBy: ['LIF-014'],
    make: () =>
      fake(
        withStreamedWrites(async (fakeOf, handle, request, write) => {
          await write(request).catch(async (error: SandboxError) => {
            if (error.code !== 'not_found') throw error;
            await fakeOf.create(handle.name);
            await write({ ...request, content: Buffer.from('a part') });
          });
        }),
      ),
  },
  {
    name: 'half a file',
    defect: 'Of a write that is aborted what has come is in the file.',
    caughtBy: ['FIL-020'],
    make: () =>
      fake(
        withStreamedWrites(async (_, __, request, write) => {
          const come: Uint8Array[] = [];
          const content = seen(request.content as Pieces, (piece) => come.push(piece));
          await write({ ...request, content }).catch(async (error: SandboxError) => {
            const { signal: _signal, ...unheard } = request;
            if (error.code === 'aborted') await write({ ...unheard, content: Buffer.concat(come) });
            throw error;
          });
        }),
      ),
  },
  {
    name: 'content held for ever',
    defect: 'The content of a write that is over is not let go of.',
    caughtBy: [],
    caughtByHanging: ['FIL-021'],
    make: () =>
      fake(
        withStreamedWrites((_, __, request, write) =>
          write({ ...request, content: unreleased(request.content as Pieces) }),
        ),
      ),
  },
  {
    name: 'leaves what it wrote first',
    defect: 'The temporary file of a write that fails stays beside the file.',
    caughtBy: [],
    caughtByHanging: ['RDF-010'],
    make: () =>
      fake(
        withStreamedWrites(async (_, __, request, write) => {
          await write(request).catch(async (error: unknown) => {
            await write({ path: `${request.path}.part`, content: Buffer.of() });
            throw error;
          });
        }),
      ),
  },
  {
    name: 'no mode is 0',
    defect: 'A mode of 0 is taken for none.',
    caughtBy: ['FIL-004'],
    make: () => fake(withWrites((request, write) => write({ ...request, mode: request.mode || undefined }))),
  },
  {
    name: 'names trimmed',
    defect: 'Spaces at the ends of a path are taken away.',
    caughtBy: ['FIL-012'],
    make: () => fake(withWrites((request, write) => write({ ...request, path: request.path.trim() }))),
  },
  {
    name: 'marks taken away',
    defect: 'A byte order mark at the beginning is taken away.',
    caughtBy: ['FIL-001', 'RDF-001'],
    make: () =>
      fake(
        withWrites((request, write) => {
          const { content } = request;
          const isMarked = content instanceof Uint8Array && Buffer.from(content).indexOf('\uFEFF') === 0;
          return write(isMarked ? { ...request, content: content.subarray(3) } : request);
        }),
      ),
  },
  {
    name: 'waits for the rest of stdin',
    defect: 'An exec answers when the source of its stdin has come to its end.',
    caughtBy: ['PRO-019'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
            const { stdin } = request;
            if (stdin === undefined || stdin instanceof Uint8Array) return super.doExec(handle, request);
            let end!: () => void;
            const ended = new Promise<void>((resolve) => (end = resolve));
            const result = await super.doExec(handle, { ...request, stdin: seen(stdin, () => {}, end) });
            await ended;
            return result;
          }
        },
      ),
  },
  {
    name: 'sources of stdin held for ever',
    defect: 'The source of stdin is not let go of when the command has ended.',
    caughtBy: [],
    caughtByHanging: ['PRO-020'],
    make: () =>
      fake(
        withExecRequests(({ stdin }) =>
          stdin === undefined || stdin instanceof Uint8Array ? {} : { stdin: unreleased(stdin) },
        ),
      ),
  },
];

function withWrites(around: (request: WriteFileRequest, write: Write) => Promise<void>): FakeKind {
  return class extends TargetFake {
    protected override doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
      return around(request, (changed) => super.doWriteFile(handle, changed));
    }
  };
}

/** As `withWrites`, for content that comes in pieces. */
function withStreamedWrites(
  around: (adapter: TargetFake, handle: SandboxHandle, request: WriteFileRequest, write: Write) => Promise<void>,
): FakeKind {
  return class extends TargetFake {
    protected override doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
      const write: Write = (changed) => super.doWriteFile(handle, changed);
      return request.content instanceof Uint8Array ? write(request) : around(this, handle, request, write);
    }
  };
}

async function* seen(
  content: AsyncIterable<Uint8Array>,
  see: (piece: Uint8Array) => unknown,
  end = (): void => {},
): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    see(piece);
    yield piece;
  }
  end();
}

function unreleased(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const pieces = content[Symbol.asyncIterator]();
  return { [Symbol.asyncIterator]: () => ({ next: () => pieces.next() }) };
}
