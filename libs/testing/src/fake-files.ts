import { posix } from 'node:path';
import { invalidArgument, type FileEntry, type FileStat } from '#libs/contract';
import { noPath, notWritten } from './fake-errors.js';

/** Where relative paths begin, and what `~` stands for. */
export const FAKE_HOME = '/home/sandbox';

interface FakeFile {
  readonly data: Buffer;
  readonly mode: number;
  readonly modifiedAt: Date;
}

/** The files of one sandbox. A directory is there as soon as something lies in it. */
export class FakeFiles {
  readonly #files = new Map<string, FakeFile>();
  readonly #directories = new Map<string, Date>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
    for (const path of ['/tmp', FAKE_HOME]) this.#addDirectory(path);
  }

  hasDirectory(path: string): boolean {
    return this.#directories.has(absolute(path));
  }

  /** @throws {SandboxError} `write_failed`: a directory is there, or a parent is a file */
  write(path: string, data: Uint8Array, mode: number | undefined): void {
    const target = absolute(path);
    if (path.endsWith('/') || this.#directories.has(target)) throw notWritten('the path is a directory');
    for (let parent = posix.dirname(target); parent !== '/'; parent = posix.dirname(parent)) {
      if (this.#files.has(parent)) throw notWritten('a parent is not a directory');
    }
    this.#addDirectory(posix.dirname(target));
    const kept = mode ?? this.#files.get(target)?.mode ?? 0o644;
    this.#files.set(target, { data: Buffer.from(data), mode: kept, modifiedAt: this.#now() });
  }

  /** A copy. */
  peek(path: string): Buffer | undefined {
    const file = this.#files.get(absolute(path));
    return file && Buffer.from(file.data);
  }

  /** @throws {SandboxError} `not_found`; `invalid`: a directory */
  read(path: string): Uint8Array {
    const data = this.peek(path);
    if (data !== undefined) return data;
    throw this.hasDirectory(path) ? invalidArgument('path: is a directory') : noPath('file');
  }

  /** @throws {SandboxError} `not_found` */
  stat(path: string): FileStat {
    const target = absolute(path);
    const file = this.#files.get(target);
    if (file) return { type: 'file', size: file.data.byteLength, mode: file.mode, modifiedAt: file.modifiedAt };
    const modifiedAt = this.#directories.get(target);
    if (modifiedAt) return { type: 'directory', size: 0, mode: 0o755, modifiedAt };
    throw noPath('file or directory');
  }

  /** By name. @throws {SandboxError} `not_found`; `invalid`: not a directory */
  list(path: string): FileEntry[] {
    if (this.stat(path).type !== 'directory') throw invalidArgument('path: is not a directory');
    const directory = absolute(path);
    return [...this.#directories.keys(), ...this.#files.keys()]
      .filter((entry) => entry !== '/' && posix.dirname(entry) === directory)
      .map((entry) => Object.assign({ name: posix.basename(entry) }, this.stat(entry)))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  #addDirectory(path: string): void {
    const now = this.#now();
    for (let at = path; !this.#directories.has(at); at = posix.dirname(at)) this.#directories.set(at, now);
  }
}

function absolute(path: string): string {
  const below = path === '~' ? '' : path.startsWith('~/') ? path.slice(2) : path;
  return posix.resolve(FAKE_HOME, below);
}
