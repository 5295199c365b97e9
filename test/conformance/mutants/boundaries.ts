import type { AttachRequest, FileEntry, SandboxSession } from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake, withAttach, withExecRequests } from './making.js';
import type { Mutant } from './mutant.js';

const KiB = 1024;
/** What a page of a listing holds. */
const PAGE = 20;

export const boundaryMutants: readonly Mutant[] = [
  {
    name: 'begins with a piece',
    defect: 'An attach from beyond 64 KiB begins at a multiple of 64 KiB.',
    caughtBy: ['ATT-028'],
    make: () => fake(withAttach((request) => ({ ...request, from: roundedDown(request.from) }))),
  },
  {
    name: 'one page of sessions',
    defect: `Of the sessions ${PAGE} are listed.`,
    caughtBy: ['SES-016'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doListSessions(
            ...given: Parameters<TargetFake['doListSessions']>
          ): Promise<SandboxSession[]> {
            return (await super.doListSessions(...given)).slice(0, PAGE);
          }
        },
      ),
  },
  {
    name: 'one page of files',
    defect: `Of the entries of a directory ${PAGE} are listed.`,
    caughtBy: ['RDF-008'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doListFiles(...given: Parameters<TargetFake['doListFiles']>): Promise<FileEntry[]> {
            return (await super.doListFiles(...given)).slice(0, PAGE);
          }
        },
      ),
  },
  {
    name: '16 MiB whatever it is told',
    defect: 'An exec takes 16 MiB of output, also when it is told to take more.',
    caughtBy: [],
    caughtByRefusal: ['LIM-018'],
    make: () => fake(withExecRequests(({ maxOutputBytes }) => ({ maxOutputBytes: Math.min(maxOutputBytes, 2 ** 24) }))),
  },
  {
    name: 'content up to 256 KiB',
    defect: 'Of content that comes in pieces the first 256 KiB are written.',
    caughtBy: ['FIL-016'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doWriteFile(
            ...[handle, request]: Parameters<TargetFake['doWriteFile']>
          ): ReturnType<TargetFake['doWriteFile']> {
            const { content } = request;
            if (content instanceof Uint8Array) return super.doWriteFile(handle, request);
            return super.doWriteFile(handle, { ...request, content: beginning(content, 256 * KiB) });
          }
        },
      ),
  },
  {
    name: 'pieces of a file swapped',
    defect: 'The second 64 KiB of a file are written before the first.',
    caughtBy: ['FIL-009', 'RDF-001'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override doWriteFile(
            ...[handle, request]: Parameters<TargetFake['doWriteFile']>
          ): ReturnType<TargetFake['doWriteFile']> {
            const { content } = request;
            if (!(content instanceof Uint8Array)) return super.doWriteFile(handle, request);
            const [first, second] = [content.subarray(0, 64 * KiB), content.subarray(64 * KiB, 128 * KiB)];
            const swapped = Buffer.concat([second, first, content.subarray(128 * KiB)]);
            return super.doWriteFile(handle, { ...request, content: swapped });
          }
        },
      ),
  },
];

function roundedDown(from: AttachRequest['from']): AttachRequest['from'] {
  if (from === 'now' || from.stdout <= 64 * KiB) return from;
  return { ...from, stdout: from.stdout - (from.stdout % (64 * KiB)) };
}

async function* beginning(content: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const piece of content) {
    yield piece.subarray(0, left);
    left = Math.max(0, left - piece.byteLength);
  }
}
