import { posix } from 'node:path';
import { toBytes, type Bytes, type FileStat } from '#libs/contract';
import type { FakeFiles } from './fake-files.js';
import type { FakeProcessFiles } from './fake-program.js';

/** The files of a sandbox, seen from a working directory. */
export class ProcessFiles implements FakeProcessFiles {
  readonly #files: FakeFiles;
  readonly #dir: string;

  constructor(files: FakeFiles, dir: string) {
    this.#files = files;
    this.#dir = dir;
  }

  read(path: string): Buffer {
    return this.#files.read(this.#at(path));
  }

  write(path: string, data: Bytes, mode?: number): void {
    this.#files.write(this.#at(path), toBytes('data', data), mode);
  }

  list(path = '.'): string[] {
    return this.#files.list(this.#at(path)).map(({ name }) => name);
  }

  stat(path: string): FileStat {
    return this.#files.stat(this.#at(path));
  }

  makeDirectory(path: string): void {
    this.#files.makeDirectory(this.#at(path));
  }

  symlink(target: string, path: string): void {
    this.#files.symlink(target, this.#at(path));
  }

  remove(path: string): void {
    this.#files.remove(this.#at(path));
  }

  /** Keeps a slash at the end, which says that a directory is meant. */
  #at(path: string): string {
    return path.startsWith('/') || path === '~' || path.startsWith('~/') ? path : posix.join(this.#dir, path);
  }
}
