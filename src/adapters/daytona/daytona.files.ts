import { posix } from 'node:path';
import { SandboxError, invalidArgument, type FileEntry, type FileStat, type WriteFileRequest } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { unconfirmed } from '../common/failed-answer.js';
import { MAX_FILE_BYTES, MAX_LIST_BYTES, gatherContent } from '../common/file-content.js';
import type { HttpAnswer } from '../common/http-client.js';
import { asObject } from '../common/json.js';
import { newNonce } from '../common/session-id.js';
import type { InSandbox } from './daytona.context.js';
import { fileError, malformedReply } from './daytona.errors.js';
import { runErrand, wordsIn, type Errand } from './daytona.execute.js';
import { placeProgram } from './daytona.place-program.js';
import { underHome } from './daytona.start-command.js';
import { withStaged } from './daytona.upload.js';

/**
 * Atomic: the content is uploaded to a file of ours, copied beside the target and renamed over it. A link at the target
 * is followed.
 */
export async function writeFile(
  context: InSandbox,
  { path, mode, content }: WriteFileRequest,
  deadline: Deadline,
): Promise<void> {
  if (path.endsWith('/')) throw invalidArgument('path: names a directory');
  const body = await gatherContent(content, deadline);
  const home = (await context.toolboxes.ready(context.handle, deadline))?.home ?? '/';
  const target = underHome(absolute(path, home), home);
  await withStaged(context, body, { token: newNonce(), deadline, wake: true }, async (staged) => {
    const program = placeProgram({ staged, target, bytes: body.byteLength, ...(mode !== undefined && { mode }) });
    const errand: Errand = { purpose: 'place', program, seconds: 60, again: false };
    const [word] = wordsIn(await runErrand(context.toolboxes, context.handle, errand, deadline));
    if (word === 'k') return;
    const refusal = REFUSALS.get(word);
    if (refusal === undefined) throw unconfirmed('the write');
    throw new SandboxError('write_failed', { effect: 'none', message: refusal });
  });
}

const REFUSALS: ReadonlyMap<string | undefined, string> = new Map([
  ['d', 'there is a directory of that name'],
  ['p', 'its parent directories cannot be made'],
  ['f', 'the file cannot be written there'],
]);

export async function readFile(context: InSandbox, path: string, deadline: Deadline): Promise<Uint8Array> {
  const answer = await ask(context, '/files/download', path, deadline, MAX_FILE_BYTES);
  if (answer.status !== 200) throw fileError(answer);
  // What a gateway says instead is no file.
  if (!isDownload(answer)) throw malformedReply('the file');
  return answer.body;
}

function isDownload({ headers }: HttpAnswer): boolean {
  return headers.has('content-disposition') || headers.get('content-type') === 'application/octet-stream';
}

export async function listFiles(context: InSandbox, path: string, deadline: Deadline): Promise<FileEntry[]> {
  const answer = await ask(context, '/files', path, deadline, MAX_LIST_BYTES);
  if (answer.ok) return entriesIn(answer).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const error = fileError(answer);
  if (error.code === 'not_found' && (await isThere(context, path, deadline))) {
    throw invalidArgument('path: is not a directory');
  }
  throw error;
}

/** The call for one file follows links: it is looked up in the directory that it lies in. */
export async function statFile(context: InSandbox, path: string, deadline: Deadline): Promise<FileStat> {
  const home = (await context.toolboxes.ready(context.handle, deadline))?.home ?? '/';
  const target = absolute(path, home);
  if (target === '/') return statOf(entryOf((await info(context, target, deadline)).json()));
  const answer = await ask(context, '/files', posix.dirname(target), deadline, MAX_LIST_BYTES);
  if (!answer.ok) throw fileError(answer);
  const found = entriesIn(answer).find(({ name }) => name === posix.basename(target));
  if (found) return statOf(found);
  throw new SandboxError('not_found', { effect: 'none', message: 'there is no such file or directory' });
}

async function isThere(context: InSandbox, path: string, deadline: Deadline): Promise<boolean> {
  return (await ask(context, '/files/info', path, deadline, 64 * 1024)).ok;
}

async function info(context: InSandbox, path: string, deadline: Deadline): Promise<HttpAnswer> {
  const answer = await ask(context, '/files/info', path, deadline, 64 * 1024);
  if (!answer.ok) throw fileError(answer);
  return answer;
}

async function ask(
  { toolboxes, handle }: InSandbox,
  call: string,
  path: string,
  deadline: Deadline,
  maxBytes: number,
): Promise<HttpAnswer> {
  const home = (await toolboxes.ready(handle, deadline))?.home ?? '/';
  const query: [string, string][] = [['path', absolute(path, home)]];
  const answer = await toolboxes.call(
    handle,
    { method: 'GET', path: call, query, deadline, maxBytes, isContent: true },
    { again: true },
  );
  if (answer === undefined) throw malformedReply('the sandbox');
  return answer;
}

/** A relative path, and `~`, begin at the home directory. */
function absolute(path: string, home: string): string {
  const below = path === '~' ? '' : path.startsWith('~/') ? path.slice(2) : path;
  return posix.resolve(home, below);
}

function entriesIn(answer: HttpAnswer): FileEntry[] {
  const entries = answer.json();
  if (!Array.isArray(entries)) throw malformedReply('the list of files');
  return entries.map(entryOf);
}

function statOf({ type, size, mode, modifiedAt }: FileEntry): FileStat {
  return { type, size, mode, modifiedAt };
}

function entryOf(raw: unknown): FileEntry {
  const { name, size, isDir, mode, permissions, modifiedAt, modTime } = asObject(raw) ?? {};
  const time = modifiedAt ?? modTime;
  const date = new Date(typeof time === 'string' ? time : Number.NaN);
  const isOctal = typeof permissions === 'string' && /^[0-7]{3,6}$/.test(permissions);
  if (!isFileName(name) || !isSize(size) || !isOctal || Number.isNaN(date.getTime())) {
    throw malformedReply('the list of files');
  }
  return {
    name,
    type: isDir === true ? 'directory' : typeOf(mode),
    size,
    mode: Number.parseInt(permissions, 8) & 0o7777,
    modifiedAt: date,
  };
}

function isFileName(name: unknown): name is string {
  return typeof name === 'string' && /^[^/\0]+$/.test(name) && name !== '.' && name !== '..';
}

function isSize(size: unknown): size is number {
  return typeof size === 'number' && Number.isSafeInteger(size) && size >= 0;
}

/** By the first letter of a mode as Go prints it. */
function typeOf(mode: unknown): FileStat['type'] {
  const letter = typeof mode === 'string' ? mode.charAt(0) : '-';
  if (letter === '-') return 'file';
  if (letter === 'L' || letter === 'l') return 'symlink';
  return letter === 'd' ? 'directory' : 'other';
}
