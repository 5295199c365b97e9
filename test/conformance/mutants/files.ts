import { posix } from 'node:path';
import {
  SandboxError,
  collectBytes,
  type CallOptions,
  type FileEntry,
  type FileStat,
  type SandboxHandle,
  type WriteFileRequest,
} from '#libs/contract';
import { TargetFake, type FakeKind } from '../targets/fake.js';
import { fake, text, withCalls } from './making.js';
import type { Mutant } from './mutant.js';

export const fileMutants: readonly Mutant[] = [
  {
    name: 'files are text',
    defect: 'The content of a file becomes text and bytes again.',
    caughtBy: ['FIL-001', 'FIL-007', 'FIL-009', 'RDF-001'],
    make: () => fake(withContent((data) => Buffer.from(text(data)))),
  },
  {
    name: 'files are Latin-1',
    defect: 'Text is written with one byte a character.',
    caughtBy: ['FIL-002', 'FIL-012'],
    make: () => fake(withContent((data) => Buffer.from(text(data), 'latin1'))),
  },
  {
    name: 'no parents',
    defect: 'A file is written below home whatever directories its path names.',
    caughtBy: ['FIL-003', 'SUS-002'],
    make: () => fake(withWrites((request) => ({ ...request, path: posix.basename(request.path) }))),
  },
  {
    name: 'the umask holds',
    defect: 'The umask takes its bits from a mode that was asked for.',
    caughtBy: ['FIL-004'],
    make: () =>
      fake(withWrites(({ mode, ...request }) => (mode === undefined ? request : { ...request, mode: mode & ~0o022 }))),
  },
  {
    name: 'another mode each time',
    defect: 'A file whose mode was not given gets 600, whatever it had.',
    caughtBy: ['FIL-005'],
    make: () => fake(withWrites((request) => ({ ...request, mode: request.mode ?? 0o600 }))),
  },
  {
    name: 'written over',
    defect: 'What a file had beyond the end of its new content stays.',
    caughtBy: ['FIL-006', 'FIL-001'],
    make: () => fake(withContent((data, old = Buffer.of()) => Buffer.concat([data, old.subarray(data.byteLength)]))),
  },
  {
    name: 'the first piece',
    defect: 'Of content that comes in pieces the first is written.',
    caughtBy: ['FIL-007', 'FIL-008'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
            const { content } = request;
            if (content instanceof Uint8Array) return super.doWriteFile(handle, request);
            for await (const first of content) return super.doWriteFile(handle, { ...request, content: first });
          }
        },
      ),
  },
  {
    name: 'written piece by piece',
    defect: 'Each piece of content is in the file as soon as it has come.',
    caughtBy: ['FIL-008', 'FIL-014', 'FIL-015'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
            const { files } = this.sandbox(handle);
            files.write(request.path, Buffer.of(), request.mode);
            for await (const piece of pieces(request.content)) {
              files.write(request.path, Buffer.concat([files.read(request.path), piece]), request.mode);
              await new Promise(setImmediate);
            }
          }
        },
      ),
  },
  {
    name: 'one request a file',
    defect: 'Of a file only what fits into one request is written.',
    caughtBy: ['FIL-009', 'RDF-001'],
    make: () => fake(withContent((data) => data.subarray(0, 2 ** 18))),
  },
  {
    name: 'makes room',
    defect: 'What is in the way of a file is removed.',
    caughtBy: ['FIL-010'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
            const { files } = this.sandbox(handle);
            if (files.hasDirectory(request.path)) files.remove(request.path);
            return super.doWriteFile(handle, request);
          }
        },
      ),
  },
  {
    name: 'a mode of any kind',
    defect: 'A mode that is none is not looked at.',
    caughtBy: ['FIL-011'],
    make: () => fake(withCalls(({ operation, args, run }) => run(operation === 'writeFile' ? args.slice(0, 3) : args))),
  },
  {
    name: 'names through a shell',
    defect: 'A path ends at its first space.',
    caughtBy: ['FIL-012'],
    make: () => fake(withWrites((request) => ({ ...request, path: request.path.split(' ')[0] as string }))),
  },
  {
    name: 'another home for files',
    defect: 'Relative paths of files begin elsewhere than commands do.',
    caughtBy: ['FIL-013', 'FIL-001'],
    make: () => fake(withWrites((request) => ({ ...request, path: posix.resolve('/srv', request.path) }))),
  },
  {
    name: 'reads text',
    defect: 'A file that is read becomes text and bytes again.',
    caughtBy: ['RDF-001'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doReadFile(handle: SandboxHandle, path: string): Promise<Uint8Array> {
            return Buffer.from(text(await super.doReadFile(handle, path)));
          }
        },
      ),
  },
  {
    name: 'remembers what it wrote',
    defect: 'Only files that were written through the adapter can be read.',
    caughtBy: [],
    caughtByRefusal: ['RDF-002'],
    make: () =>
      fake(
        class extends TargetFake {
          readonly #written = new Set<string>();
          protected override doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
            this.#written.add(request.path);
            return super.doWriteFile(handle, request);
          }
          protected override async doReadFile(handle: SandboxHandle, path: string): Promise<Uint8Array> {
            if (!this.#written.has(path)) throw new SandboxError('not_found');
            return super.doReadFile(handle, path);
          }
        },
      ),
  },
  {
    name: 'nothing is empty',
    defect: 'A file that cannot be read is one without content.',
    caughtBy: ['RDF-003', 'RDF-004'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doReadFile(handle: SandboxHandle, path: string): Promise<Uint8Array> {
            return super.doReadFile(handle, path).catch(() => Buffer.of());
          }
        },
      ),
  },
  {
    name: 'hidden files hidden',
    defect: 'Entries that begin with a dot are not listed.',
    caughtBy: ['RDF-005'],
    make: () => fake(withEntries((entries) => entries.filter(({ name }) => !name.startsWith('.')))),
  },
  {
    name: 'a directory is in itself',
    defect: 'A directory is listed among its own entries.',
    caughtBy: ['RDF-005', 'RDF-006'],
    make: () =>
      fake(
        withEntries((entries) => [
          { name: '.', type: 'directory', size: 0, mode: 0o755, modifiedAt: new Date(0) },
          ...entries,
        ]),
      ),
  },
  {
    name: 'links are files',
    defect: 'A link is told as the file that it leads to.',
    caughtBy: ['RDF-007'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doStatFile(handle: SandboxHandle, path: string): Promise<FileStat> {
            const stat = await super.doStatFile(handle, path);
            return stat.type === 'symlink' ? { ...stat, type: 'file' } : stat;
          }
        },
      ),
  },
  {
    name: 'a failing content without a cause',
    defect: 'The error of content that fails to come is not told.',
    caughtBy: ['FIL-017'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
            return super.doWriteFile(handle, request).catch((error: SandboxError) => {
              throw error.with({ cause: undefined });
            });
          }
        },
      ),
  },
  {
    name: 'another place inside',
    defect: 'hostPath gives a path that no process has.',
    caughtBy: ['FIL-018'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doHostPath(...given: Parameters<TargetFake['doHostPath']>): Promise<string> {
            return `/outside/${await super.doHostPath(...given)}`;
          }
        },
      ),
  },
];

function withWrites(change: (request: WriteFileRequest) => WriteFileRequest): FakeKind {
  return class extends TargetFake {
    protected override doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
      return super.doWriteFile(handle, change(request));
    }
  };
}

/** @param change is given what the file had before as well */
function withContent(change: (data: Uint8Array, old: Buffer | undefined) => Uint8Array): FakeKind {
  return class extends TargetFake {
    protected override async doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
      const content = change(await collectBytes(request.content, Infinity), this.file(handle.name, request.path));
      return super.doWriteFile(handle, { ...request, content });
    }
  };
}

function withEntries(change: (entries: FileEntry[]) => FileEntry[]): FakeKind {
  return class extends TargetFake {
    protected override async doListFiles(
      handle: SandboxHandle,
      path: string,
      options: CallOptions,
    ): Promise<FileEntry[]> {
      return change(await super.doListFiles(handle, path, options));
    }
  };
}

async function* pieces(content: WriteFileRequest['content']): AsyncGenerator<Uint8Array> {
  if (content instanceof Uint8Array) {
    for (let at = 0; at < content.byteLength; at += 16_384) yield content.subarray(at, at + 16_384);
  } else {
    yield* content;
  }
}
