import { posix } from 'node:path';
import {
  SandboxError,
  collectBytes,
  invalidArgument,
  type ByteSource,
  type FileEntry,
  type FileStat,
  type WriteFileRequest,
} from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import type { HttpAnswer } from '../common/http-client.js';
import { asObject } from '../common/json.js';
import { spritePath, type SpritesClient } from './sprites.client.js';
import { answerError, malformedReply } from './sprites.errors.js';

/** The largest file that goes through one request, either way. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;
const MAX_LIST_BYTES = 64 * 1024 * 1024;
const DEFAULT_MODE = 0o644;

const HOME = '/home/sprite';

/** The file calls of one service. A relative path, and `~`, begin at the home directory. */
export class SpritesFiles {
  readonly #client: SpritesClient;

  constructor(client: SpritesClient) {
    this.#client = client;
  }

  /**
   * Not atomic: the service writes into the file itself, and whether its rename replaces is not documented. A reader may
   * see half of it, and after a failed write half of it may be there. Written again while that may help.
   */
  async write(name: string, { path, mode, content }: WriteFileRequest, deadline: Deadline): Promise<void> {
    const target = absolute(path);
    if (path.endsWith('/')) throw invalidArgument('path: names a directory');
    const body = await gather(content, deadline);
    const bits = mode ?? (await this.#modeOf(name, target, deadline));
    const answer = await this.#client.sendAgain({
      method: 'PUT',
      path: spritePath(name, 'fs', 'write'),
      query: [...at(target), ['mode', bits.toString(8).padStart(4, '0')], ['mkdirParents', 'true']],
      headers: { 'content-type': 'application/octet-stream' },
      body,
      deadline,
    });
    if (!answer.ok) throw answerError(answer, 'write');
    const size = asObject(answer.json())?.['size'];
    if (size === undefined || size === body.byteLength) return;
    throw new SandboxError('write_failed', { effect: 'unknown', message: 'another size was written than was sent' });
  }

  async read(name: string, path: string, deadline: Deadline): Promise<Uint8Array> {
    const answer = await this.#client.sendAgain({
      method: 'GET',
      path: spritePath(name, 'fs', 'read'),
      query: at(absolute(path)),
      deadline,
      maxBytes: MAX_FILE_BYTES,
    });
    if (answer.status !== 200) throw answerError(answer, 'read');
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
      throw new SandboxError('not_supported', { effect: 'none', message: 'the root directory lies in no directory' });
    }
    const entries = await this.#entries(name, posix.dirname(target), deadline);
    const found = entries.find((entry) => entry.name === posix.basename(target));
    if (found === undefined || found.path === posix.dirname(target)) {
      throw new SandboxError('not_found', { effect: 'none', message: 'there is no such file or directory' });
    }
    const { type, size, mode, modifiedAt } = found;
    return { type, size, mode, modifiedAt };
  }

  /** That a file keeps: the service sets one with every write. */
  async #modeOf(name: string, target: string, deadline: Deadline): Promise<number> {
    try {
      const { type, mode } = await this.stat(name, target, deadline);
      return type === 'file' ? mode : DEFAULT_MODE;
    } catch (error) {
      if (error instanceof SandboxError && (error.code === 'not_found' || error.code === 'invalid'))
        return DEFAULT_MODE;
      throw error instanceof SandboxError ? error.with({ effect: 'none' }) : error;
    }
  }

  async #entries(name: string, target: string, deadline: Deadline): Promise<(FileEntry & { readonly path: string })[]> {
    const answer = await this.#client.sendAgain({
      method: 'GET',
      path: spritePath(name, 'fs', 'list'),
      query: at(target),
      deadline,
      maxBytes: MAX_LIST_BYTES,
    });
    if (!answer.ok) throw answerError(answer, 'read');
    return entriesIn(answer);
  }
}

function at(path: string): [string, string][] {
  return [
    ['path', path],
    ['workingDir', '/'],
  ];
}

function absolute(path: string): string {
  const below = path === '~' ? '' : path.startsWith('~/') ? path.slice(2) : path;
  const whole = posix.resolve(HOME, below);
  return whole;
}

const TYPES: ReadonlyMap<unknown, FileStat['type']> = new Map([
  ['file', 'file'],
  ['directory', 'directory'],
  ['symlink', 'symlink'],
]);

function entriesIn(answer: HttpAnswer): (FileEntry & { readonly path: string })[] {
  const entries = asObject(answer.json())?.['entries'];
  if (!Array.isArray(entries)) throw malformedReply('the list of files');
  return entries.map((raw: unknown) => {
    const { name, path, type, size, mode, modTime } = asObject(raw) ?? {};
    const bits = typeof mode === 'string' && /^[0-7]{3,6}$/.test(mode) ? Number.parseInt(mode, 8) & 0o7777 : undefined;
    const modifiedAt = typeof modTime === 'string' ? new Date(modTime) : undefined;
    if (
      typeof name !== 'string' ||
      typeof path !== 'string' ||
      typeof size !== 'number' ||
      bits === undefined ||
      modifiedAt === undefined ||
      Number.isNaN(modifiedAt.getTime())
    ) {
      throw malformedReply('the list of files');
    }
    return { name, path, type: TYPES.get(type) ?? 'other', size, mode: bits, modifiedAt };
  });
}

/** All of a file's content, before anything is sent. */
async function gather(content: ByteSource, deadline: Deadline): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const bytes = await deadline.race(collectBytes(content, MAX_FILE_BYTES), 'none');
    return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
  } catch (error) {
    throw error instanceof SandboxError ? error : invalidArgument('content: its source failed').with({ cause: error });
  }
}
