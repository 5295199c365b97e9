import { posix } from 'node:path';
import { invalidArgument, type FileEntry, type FileStat, type SandboxError } from '#libs/contract';
import { noPath, notWritten } from './fake-errors.js';

/** Where relative paths begin, and what `~` stands for. */
export const FAKE_HOME = '/home/sandbox';

/** More symlinks on one way than this are a loop, as Linux has it. */
const MAX_SYMLINKS = 40;
/** Bytes: no program could open what lies at a longer one. */
const LONGEST_PATH = 4_096;

type Content =
  | { readonly type: 'file'; readonly data: Buffer; readonly mode: number }
  | { readonly type: 'directory' }
  | { readonly type: 'symlink'; readonly target: string };

type Entry = Content & { readonly modifiedAt: Date };

/** A state of all files, to go back to. */
export type FilesSnapshot = ReadonlyMap<string, Entry>;

/** The files of one sandbox. Reading and writing follow symlinks; a write is whole or leaves everything as it was. */
export class FakeFiles {
  /** By absolute path. What is in it is replaced, never changed. */
  #entries = new Map<string, Entry>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
    for (const path of ['/tmp', FAKE_HOME]) this.makeDirectory(path);
  }

  hasDirectory(path: string): boolean {
    return this.#find(path)?.type === 'directory';
  }

  /**
   * Parents are made. `mode` is kept as it is.
   *
   * @throws {SandboxError} `write_failed`: a directory is there, or a parent is none; `invalid`: no path of a file
   */
  write(path: string, data: Uint8Array, mode: number | undefined): void {
    if (Buffer.byteLength(path) > LONGEST_PATH) throw invalidArgument(`path: is longer than ${LONGEST_PATH} bytes`);
    if (path.endsWith('/')) throw invalidArgument('path: names a directory');
    const target = this.#follow(path, notWritten);
    const existing = this.#entries.get(target);
    if (existing?.type === 'directory') throw notWritten('the path is a directory');
    this.#add(target, {
      type: 'file',
      data: Buffer.from(data),
      mode: mode ?? (existing?.type === 'file' ? existing.mode : 0o644),
    });
  }

  /** @throws {SandboxError} `write_failed`: it, or a parent, is something else */
  makeDirectory(path: string): void {
    const target = this.#follow(path, notWritten);
    const existing = this.#entries.get(target);
    if (existing === undefined) this.#add(target, { type: 'directory' });
    else if (existing.type !== 'directory') throw notWritten('the path is a file');
  }

  /** @throws {SandboxError} `write_failed`: something is there, or a parent is no directory */
  symlink(target: string, path: string): void {
    const at = this.#locate(path, notWritten);
    if (this.#entries.has(at)) throw notWritten('the path exists');
    this.#add(at, { type: 'symlink', target });
  }

  /** A file, a symlink, or a directory with all that is in it. @throws {SandboxError} `not_found` */
  remove(path: string): void {
    const at = this.#locate(path);
    if (at === '/' || !this.#entries.has(at)) throw noPath('file or directory');
    for (const entry of this.#entries.keys()) {
      if (entry === at || entry.startsWith(`${at}/`)) this.#entries.delete(entry);
    }
  }

  /** A copy. */
  peek(path: string): Buffer | undefined {
    const entry = this.#find(path);
    return entry?.type === 'file' ? Buffer.from(entry.data) : undefined;
  }

  /** A copy. @throws {SandboxError} `not_found`; `invalid`: a directory */
  read(path: string): Buffer {
    const entry = this.#find(path);
    if (entry?.type === 'file') return Buffer.from(entry.data);
    throw entry ? invalidArgument('path: is a directory') : noPath('file');
  }

  /** Of the path itself: a symlink is not followed. @throws {SandboxError} `not_found` */
  stat(path: string): FileStat {
    const entry = this.#entries.get(this.#locate(path));
    if (entry === undefined) throw noPath('file or directory');
    return statOf(entry);
  }

  /** By name. @throws {SandboxError} `not_found`; `invalid`: not a directory */
  list(path: string): FileEntry[] {
    const directory = this.#follow(path);
    const found = this.#entries.get(directory);
    if (found === undefined) throw noPath('directory');
    if (found.type !== 'directory') throw invalidArgument('path: is not a directory');
    return [...this.#entries]
      .filter(([at]) => at !== '/' && posix.dirname(at) === directory)
      .map(([at, entry]) => Object.assign({ name: posix.basename(at) }, statOf(entry)))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  snapshot(): FilesSnapshot {
    return new Map(this.#entries);
  }

  restore(snapshot: FilesSnapshot): void {
    this.#entries = new Map(snapshot);
  }

  #add(path: string, content: Content): void {
    const modifiedAt = this.#now();
    const missing: string[] = [];
    for (let parent = posix.dirname(path); ; parent = posix.dirname(parent)) {
      const existing = this.#entries.get(parent);
      if (existing !== undefined && existing.type !== 'directory') throw notWritten('a parent is not a directory');
      if (existing === undefined) missing.push(parent);
      if (existing !== undefined || parent === '/') break;
    }
    for (const parent of missing.toReversed()) this.#entries.set(parent, { type: 'directory', modifiedAt });
    this.#entries.set(path, { ...content, modifiedAt });
  }

  #find(path: string): Entry | undefined {
    return this.#entries.get(this.#follow(path));
  }

  /** Where a path leads. @param error what a loop is */
  #follow(path: string, error?: (why: string) => SandboxError): string {
    return this.#walk(path, true, error);
  }

  /** As `#follow`, except that the last component is taken as it is. */
  #locate(path: string, error?: (why: string) => SandboxError): string {
    return this.#walk(path, false, error);
  }

  #walk(path: string, isLastFollowed: boolean, error = (why: string) => invalidArgument(`path: ${why}`)): string {
    const todo = components(absolute(path));
    let at = '/';
    for (let symlinks = 0, name = todo.shift(); name !== undefined; name = todo.shift()) {
      const next = posix.join(at, name);
      const entry = this.#entries.get(next);
      if (entry?.type !== 'symlink' || (todo.length === 0 && !isLastFollowed)) {
        at = next;
        continue;
      }
      symlinks += 1;
      if (symlinks > MAX_SYMLINKS) throw error('too many symlinks');
      todo.unshift(...components(posix.resolve(at, entry.target)));
      at = '/';
    }
    return at;
  }
}

/** Where a path begins that is relative, or begins with `~`. */
export function absolute(path: string): string {
  const below = path === '~' ? '' : path.startsWith('~/') ? path.slice(2) : path;
  return posix.resolve(FAKE_HOME, below);
}

function components(path: string): string[] {
  return path.split('/').filter((name) => name !== '');
}

function statOf(entry: Entry): FileStat {
  const { type, modifiedAt } = entry;
  if (type === 'file') return { type, size: entry.data.byteLength, mode: entry.mode, modifiedAt };
  if (type === 'symlink') return { type, size: Buffer.byteLength(entry.target), mode: 0o777, modifiedAt };
  return { type, size: 0, mode: 0o755, modifiedAt };
}
