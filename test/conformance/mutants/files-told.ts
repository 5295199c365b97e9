import type { CallOptions, FileEntry, FileStat, SandboxHandle } from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake, text } from './making.js';
import type { Mutant } from './mutant.js';

export const fileTellingMutants: readonly Mutant[] = [
  {
    name: 'dates in seconds',
    defect: 'The date of a file is told in seconds as if they were milliseconds.',
    caughtBy: ['RDF-011'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doListFiles(
            handle: SandboxHandle,
            path: string,
            options?: CallOptions,
          ): Promise<FileEntry[]> {
            const entries = await super.doListFiles(handle, path, options);
            return entries.map((one) => Object.assign(one, { modifiedAt: new Date(one.modifiedAt.getTime() / 1000) }));
          }
        },
      ),
  },
  {
    name: 'sizes in characters',
    defect: 'The size of a file is told in characters.',
    caughtBy: ['RDF-011'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doStatFile(
            handle: SandboxHandle,
            path: string,
            options?: CallOptions,
          ): Promise<FileStat> {
            const stat = await super.doStatFile(handle, path, options);
            return stat.type === 'file'
              ? { ...stat, size: text(await super.doReadFile(handle, path, options)).length }
              : stat;
          }
        },
      ),
  },
  {
    name: 'follows what it lists',
    defect: 'A listing looks where each link leads, and fails at one that leads nowhere.',
    caughtBy: [],
    caughtByRefusal: ['RDF-012'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doListFiles(
            handle: SandboxHandle,
            path: string,
            options?: CallOptions,
          ): Promise<FileEntry[]> {
            const entries = await super.doListFiles(handle, path, options);
            const links = entries.filter(({ type }) => type === 'symlink');
            for (const { name } of links) await super.doReadFile(handle, `${path}/${name}`, options);
            return entries;
          }
        },
      ),
  },
  {
    name: 'leaves out what leads nowhere',
    defect: 'A link that leads nowhere is not listed.',
    caughtBy: ['RDF-012'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override async doListFiles(
            handle: SandboxHandle,
            path: string,
            options?: CallOptions,
          ): Promise<FileEntry[]> {
            const entries = await super.doListFiles(handle, path, options);
            const { files } = this.sandbox(handle);
            return entries.filter(({ name }) => files.peek(`${path}/${name}`) !== undefined);
          }
        },
      ),
  },
];
