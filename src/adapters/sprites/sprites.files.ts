import { posix } from 'node:path';
import { SandboxError, invalidArgument, type FileEntry, type FileStat, type WriteFileRequest } from '#libs/contract';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { MAX_FILE_BYTES, MAX_LIST_BYTES, gatherContent } from '../common/file-content.js';
import type { HttpAnswer } from '../common/http-client.js';
import { asObject } from '../common/json.js';
import { notSupported } from '../common/not-supported.js';
import { newNonce } from '../common/session-id.js';
import { spritePath, type SpritesClient } from './sprites.client.js';
import { answerError, checkCount, fileCodeOf, malformedReply } from './sprites.errors.js';

const DEFAULT_MODE = 0o644;

const HOME = '/home/sprite';

interface NewFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly mode: number;
}

/** The file calls of one service. A relative path, and `~`, begin at the home directory. */
export class SpritesFiles {
  readonly #client: SpritesClient;

  constructor(client: SpritesClient) {
    this.#client = client;
  }

  /**
   * Whole or not at all where a file, or nothing, is there: it is written beside its place and renamed into it. Through
   * a link, and where the service refuses to rename over what is there, it is written in place: a reader may then see
   * half of it, and after a failure half of it may be left.
   */
  async write(name: string, { path, mode, content }: WriteFileRequest, deadline: Deadline): Promise<void> {
    const target = absolute(path);
    if (path.endsWith('/')) throw invalidArgument('path: names a directory');
    const body = await gatherContent(content, deadline);
    const there = await this.#existing(name, target, deadline);
    const file = { body, mode: mode ?? (there?.type === 'file' ? there.mode : DEFAULT_MODE) };
    const isReplaceable = there === undefined || there.type === 'file';
    if (isReplaceable && (await this.#replace(name, target, file, deadline))) return;
    await this.#put(name, target, file, deadline);
  }

  /** @returns whether it was: not where nothing can be renamed over what is there */
  async #replace(name: string, target: string, file: NewFile, deadline: Deadline): Promise<boolean> {
    const source = posix.join(posix.dirname(target), `.nestjs-sandbox-${newNonce()}`);
    try {
      await this.#put(name, source, file, deadline);
      const answer = await this.#client.send({
        method: 'POST',
        path: spritePath(name, 'fs', 'rename'),
        json: { source, dest: target, workingDir: '/' },
        deadline,
      });
      if (answer.ok) return checkDone(answer, 'the new name of the file');
      if (fileCodeOf(answer) !== 'EEXIST') throw answerError(answer, 'write');
    } catch (error) {
      // Whoever has no time left does not wait for it.
      const removed = this.#remove(name, source).catch(() => {});
      if (!deadline.signal.aborted) await removed;
      throw error;
    }
    await this.#remove(name, source).catch(() => {});
    return false;
  }

  async #put(name: string, path: string, { body, mode }: NewFile, deadline: Deadline): Promise<void> {
    const answer = await this.#client.sendAgain({
      method: 'PUT',
      path: spritePath(name, 'fs', 'write'),
      query: [...at(path), ['mode', mode.toString(8).padStart(4, '0')], ['mkdirParents', 'true']],
      headers: { 'content-type': 'application/octet-stream' },
      body,
      deadline,
    });
    if (!answer.ok) throw answerError(answer, 'write');
    checkDone(answer, 'the file that was written');
    const size = asObject(answer.json())?.['size'];
    if (size === undefined || size === body.byteLength) return;
    throw new SandboxError('write_failed', { effect: 'unknown', message: 'another size was written than was sent' });
  }

  /** What is left of a write that failed. */
  #remove(name: string, path: string): Promise<unknown> {
    const request = { method: 'DELETE', path: spritePath(name, 'fs', 'delete'), query: at(path) } as const;
    return withinDeadline(this.#client.options.timeoutMs, undefined, (deadline) =>
      this.#client.sendAgain({ ...request, deadline }),
    );
  }

  async read(name: string, path: string, deadline: Deadline): Promise<Uint8Array> {
    const answer = await this.#client.sendAgain({
      method: 'GET',
      path: spritePath(name, 'fs', 'read'),
      query: at(absolute(path)),
      deadline,
      maxBytes: MAX_FILE_BYTES,
      isContent: true,
    });
    if (answer.status !== 200) throw answerError(answer, 'read');
    if (!isOfSprite(answer)) throw malformedReply('the file');
    return answer.body;
  }

  async list(name: string, path: string, deadline: Deadline): Promise<FileEntry[]> {
    const target = absolute(path);
    const entries = await this.#entries(name, target, deadline);
    // The service lists a file as its own only entry.
    if (entries.some((entry) => entry.path === target)) throw invalidArgument('path: is not a directory');
    const found = entries.map(({ name: named, type, size, mode, modifiedAt }) => ({
      name: named,
      type,
      size,
      mode,
      modifiedAt,
    }));
    return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** There is no call for one file: it is looked up in the directory that it lies in. */
  async stat(name: string, path: string, deadline: Deadline): Promise<FileStat> {
    const target = absolute(path);
    if (target === '/') {
      throw notSupported('the root directory lies in no directory');
    }
    const entries = await this.#entries(name, posix.dirname(target), deadline);
    const found = entries.find((entry) => entry.name === posix.basename(target));
    if (found === undefined || found.path === posix.dirname(target)) {
      throw new SandboxError('not_found', { effect: 'none', message: 'there is no such file or directory' });
    }
    const { type, size, mode, modifiedAt } = found;
    return { type, size, mode, modifiedAt };
  }

  /** `undefined`: nothing is there, as far as the service can tell. */
  async #existing(name: string, target: string, deadline: Deadline): Promise<FileStat | undefined> {
    try {
      return await this.stat(name, target, deadline);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      if (error.code === 'not_found' || error.code === 'invalid' || error.code === 'not_supported') return undefined;
      throw error.with({ effect: 'none' });
    }
  }

  async #entries(name: string, target: string, deadline: Deadline): Promise<(FileEntry & { readonly path: string })[]> {
    const answer = await this.#client.sendAgain({
      method: 'GET',
      path: spritePath(name, 'fs', 'list'),
      query: at(target),
      deadline,
      maxBytes: MAX_LIST_BYTES,
      isContent: true,
    });
    if (!answer.ok) throw answerError(answer, 'read');
    return entriesIn(answer);
  }
}

/** Either nothing or an object is said of what was done: a page of something on the way is not. */
function checkDone(answer: HttpAnswer, what: string): true {
  if (answer.status !== 204 && asObject(answer.json()) === undefined) throw malformedReply(what);
  return true;
}

function at(path: string): [string, string][] {
  return [
    ['path', path],
    ['workingDir', '/'],
  ];
}

/** What a sprite answers names its version. A page that does not is what a gateway says instead. */
function isOfSprite({ headers }: HttpAnswer): boolean {
  return headers.has('sprite-version') || !/^text\/html\b/i.test(headers.get('content-type') ?? '');
}

function absolute(path: string): string {
  const below = path === '~' ? '' : path.startsWith('~/') ? path.slice(2) : path;
  const whole = posix.resolve(HOME, below);
  return whole;
}

/** Whoever joins it to a directory must stay in there. */
function isFileName(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name);
}

function isSize(size: unknown): size is number {
  return typeof size === 'number' && Number.isSafeInteger(size) && size >= 0;
}

const TYPES: ReadonlyMap<unknown, FileStat['type']> = new Map([
  ['file', 'file'],
  ['directory', 'directory'],
  ['symlink', 'symlink'],
]);

function entriesIn(answer: HttpAnswer): (FileEntry & { readonly path: string })[] {
  const entries = asObject(answer.json())?.['entries'];
  if (!Array.isArray(entries)) throw malformedReply('the list of files');
  checkCount(answer.json(), entries, 'the list of files');
  return entries.map((raw: unknown) => {
    const { name, path, type, size, mode, modTime } = asObject(raw) ?? {};
    const bits = typeof mode === 'string' && /^[0-7]{3,6}$/.test(mode) ? Number.parseInt(mode, 8) & 0o7777 : undefined;
    const modifiedAt = typeof modTime === 'string' ? new Date(modTime) : undefined;
    if (
      !isFileName(name) ||
      typeof path !== 'string' ||
      !isSize(size) ||
      bits === undefined ||
      modifiedAt === undefined ||
      Number.isNaN(modifiedAt.getTime())
    ) {
      throw malformedReply('the list of files');
    }
    return { name, path, type: TYPES.get(type) ?? 'other', size, mode: bits, modifiedAt };
  });
}
