import { SandboxError, invalidArgument, type FileEntry, type FileStat, type WriteFileRequest } from '#libs/contract';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { MAX_FILE_BYTES, MAX_LIST_BYTES, gatherContent } from '../common/file-content.js';
import { FirstWord } from '../common/first-word.js';
import { malformedWord } from '../common/journal-errors.js';
import { asObject } from '../common/json.js';
import { newNonce } from '../common/session-id.js';
import { parsed } from '../common/sh-process.js';
import { assignments } from '../common/shell-quote.js';
import { answerError, connectCodeOf, malformedReply, readError, uploadError } from './e2b.errors.js';
import type { E2bMachine } from './e2b.machine.js';
import { startScript } from './e2b.start-process.js';

/** Below the home directory, where relative paths begin. */
const UPLOADS = '.nestjs-sandbox/files';
/** The longest that a Linux takes. */
const MAX_PATH_BYTES = 4095;

/**
 * Puts an upload in its place, with its mode, and says one word: `k` done, `i` a directory is there, `p` its parents
 * cannot be made, `a` its directory is closed to the user, `w` it cannot be written. Through a link the file that it
 * leads to is replaced.
 */
const PLACE = `exec 2>/dev/null
sb_say() { printf '@%s\\n' "$1"; rm -f -- "$sb_n" "$sb_up"; exit 0; }
sb_up=$HOME/${UPLOADS}/$sb_id sb_n=
case $sb_to in /*) ;; *) sb_to=$HOME/$sb_to ;; esac
if [ -L "$sb_to" ]; then
  sb_y=$(readlink -f -- "$sb_to" && echo .) && sb_to=\${sb_y%??}
fi
sb_y=\${sb_to%/*}
[ -n "$sb_y" ] || sb_y=/
mkdir -p -- "$sb_y" || sb_say p
[ ! -d "$sb_to" ] || sb_say i
[ -w "$sb_y" ] || sb_say a
sb_n=$sb_y/.nestjs-sandbox-$sb_id
mv -f -- "$sb_up" "$sb_n" || sb_say w
if [ -z "$sb_mode" ]; then
  sb_mode=644
  [ ! -f "$sb_to" ] || sb_mode=$(stat -c %a -- "$sb_to") || sb_say w
fi
chmod "$sb_mode" "$sb_n" && mv -f -- "$sb_n" "$sb_to" || sb_say w
sb_n=
sb_say k
`;

const REFUSALS: Readonly<Record<string, string>> = {
  i: 'there is a directory',
  p: 'its parents cannot be made: one of them is a file, or closed to the user',
  a: 'its directory is closed to the user',
  w: 'it cannot be written',
};

/** A file that is to be written. */
export interface GatheredFile {
  readonly path: string;
  readonly mode?: number;
  readonly body: Uint8Array<ArrayBuffer>;
}

/**
 * A file with all of its content, which is read once, however often it is sent.
 *
 * @throws {SandboxError} `invalid`
 */
export async function gatherFile({ path, mode, content }: WriteFileRequest, deadline: Deadline): Promise<GatheredFile> {
  if (path.endsWith('/')) throw invalidArgument('path: names a directory');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw invalidArgument(`path: has more than ${MAX_PATH_BYTES} bytes`);
  return { path, ...(mode !== undefined && { mode }), body: await gatherContent(content, deadline) };
}

/** Files of a sandbox. A relative path, and `~`, begin at the home directory of the user. */
export class E2bFiles {
  /**
   * Atomic: what is uploaded is renamed into its place inside the sandbox. Done again, from the upload on, while that
   * may help.
   */
  async write(machine: E2bMachine, { path, mode, body }: GatheredFile, deadline: Deadline): Promise<void> {
    const refusal = await machine.control.retry(deadline, async () => {
      const nonce = newNonce();
      await upload(machine, `${UPLOADS}/${nonce}`, body, deadline);
      return place(machine, nonce, path, mode, deadline).catch((error: unknown) => {
        void removePath(machine, `${UPLOADS}/${nonce}`);
        throw error;
      });
    });
    if (refusal !== undefined) throw new SandboxError('write_failed', { effect: 'none', message: `path: ${refusal}` });
  }

  async read(machine: E2bMachine, path: string, deadline: Deadline): Promise<Uint8Array> {
    const request = {
      method: 'GET',
      path: '/files',
      query: at(machine, path),
      deadline,
      maxBytes: MAX_FILE_BYTES,
      isContent: true,
    } as const;
    const answer = await machine.send(request, { again: true });
    if (answer.status !== 200) throw readError(answer);
    return answer.body;
  }

  async list(machine: E2bMachine, path: string, deadline: Deadline): Promise<FileEntry[]> {
    const { entries = [] } = await ask(machine, 'ListDir', { path: below(path), depth: 1 }, deadline);
    if (!Array.isArray(entries)) throw malformedReply('the list of files');
    const found = entries.map((entry: unknown) => {
      const name = asObject(entry)?.['name'];
      if (typeof name !== 'string' || !NAME.test(name)) throw malformedReply('the list of files');
      const { type, size, mode, modifiedAt } = statOf(entry);
      return { name, type, size, mode, modifiedAt };
    });
    return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  async stat(machine: E2bMachine, path: string, deadline: Deadline): Promise<FileStat> {
    const { entry } = await ask(machine, 'Stat', { path: below(path) }, deadline);
    return statOf(entry);
  }
}

async function ask(
  machine: E2bMachine,
  method: string,
  message: { readonly path: string; readonly depth?: number },
  deadline: Deadline,
): Promise<Readonly<Record<string, unknown>>> {
  const bounds = { maxBytes: MAX_LIST_BYTES, isContent: true };
  const answer = await machine.tryCall(`filesystem.Filesystem/${method}`, message, deadline, { again: true }, bounds);
  if (answer.ok) {
    const body = asObject(answer.json());
    if (body === undefined) throw malformedReply(method);
    return body;
  }
  // Without a code of its own it is not the path that is missing, but the method.
  if (answer.status === 404 && connectCodeOf(answer) === undefined) throw malformedReply(method);
  throw answerError(answer);
}

async function upload(
  machine: E2bMachine,
  path: string,
  body: Uint8Array<ArrayBuffer>,
  deadline: Deadline,
): Promise<void> {
  // Daemons that are too old for a body as it is take it as the part of a form.
  const boundary = `nestjs-sandbox-${newNonce()}`;
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="file"\r\ncontent-type: application/octet-stream\r\n\r\n`;
  const form = Buffer.concat([Buffer.from(head), body, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  const answer = await machine.send(
    {
      method: 'POST',
      path: '/files',
      query: at(machine, path),
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      body: new Uint8Array(form.buffer, form.byteOffset, form.byteLength),
      deadline,
    },
    { again: true },
  );
  if (!answer.ok) throw uploadError(answer);
  const files = answer.json();
  // A form without the part that it looks for is a success that wrote nothing.
  if (!Array.isArray(files) || files.length !== 1) throw malformedReply('the upload').with({ effect: 'none' });
}

/** @returns why it could not be */
async function place(
  machine: E2bMachine,
  nonce: string,
  path: string,
  mode: number | undefined,
  deadline: Deadline,
): Promise<string | undefined> {
  const variables = assignments({
    sb_id: nonce,
    sb_to: below(path),
    sb_mode: mode === undefined ? '' : mode.toString(8),
  });
  const first = new FirstWord({ record: () => {}, closed: () => {} });
  const spec = { kind: 'r', nonce: newNonce(), title: 'places a file' } as const;
  const process = await startScript(machine, spec, `${variables}${PLACE}`, parsed(first), deadline);
  try {
    const [word = ''] = await deadline.race(first.arrived, 'unknown');
    if (word === 'k') return undefined;
    const refusal = REFUSALS[word];
    if (refusal === undefined) throw malformedWord();
    return refusal;
  } finally {
    process.closeSoon();
  }
}

/** Of what nobody needs any more, if the sandbox runs. Whatever comes of it. */
export async function removePath(machine: E2bMachine, path: string): Promise<void> {
  await withinDeadline(machine.control.options.timeoutMs, undefined, (deadline) =>
    machine.tryCall('filesystem.Filesystem/Remove', { path }, deadline, { wake: false }),
  ).catch(() => {});
}

function at({ control }: E2bMachine, path: string): [string, string][] {
  const { user } = control.options;
  return [['path', below(path)], ...(user === undefined ? [] : [['username', user] as [string, string]])];
}

/** The service knows `~`, and takes an empty path for the directory that the template works in. */
function below(path: string): string {
  if (path === '~' || path === '~/') return '.';
  return path.startsWith('~/') ? path.slice(2) : path.startsWith('~') ? `./${path}` : path;
}

/** Of an entry of a directory. */
const NAME = /^(?!\.{1,2}$)[^/]+$/;

const TYPES: ReadonlyMap<unknown, FileStat['type']> = new Map([
  ['FILE_TYPE_FILE', 'file'],
  ['FILE_TYPE_DIRECTORY', 'directory'],
  ['FILE_TYPE_SYMLINK', 'symlink'],
]);

/** What is zero is left out, and numbers of 64 bits are text. */
function statOf(value: unknown): FileStat {
  const { type, size = 0, mode = 0, modifiedTime } = asObject(value) ?? {};
  const bytes = typeof size === 'string' && /^\d+$/.test(size) ? Number(size) : size;
  const modifiedAt = typeof modifiedTime === 'string' ? new Date(modifiedTime) : undefined;
  if (
    typeof bytes !== 'number' ||
    !Number.isSafeInteger(bytes) ||
    bytes < 0 ||
    typeof mode !== 'number' ||
    modifiedAt === undefined ||
    Number.isNaN(modifiedAt.getTime())
  ) {
    throw malformedReply('the file');
  }
  return { type: TYPES.get(type) ?? 'other', size: bytes, mode: mode & 0o7777, modifiedAt };
}
