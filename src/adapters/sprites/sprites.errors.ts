import { SandboxError } from '#libs/contract';
import {
  NOT_UNDERSTOOD,
  afterEarlier,
  bodyOf,
  faultOf,
  malformedAnswer,
  type FailedAnswer,
  type Fault,
} from '../common/failed-answer.js';
import { asObject } from '../common/json.js';
import { retryAfterMs, secondsToMs } from '../common/retry-after.js';

/** Beside 404 and 410, see {@link saysMissing}. What a 409 to a creation means is for that to say. */
const BY_STATUS: Readonly<Record<number, Fault>> = {
  409: ['unavailable', { effect: 'none' }],
};

/** What the endpoints that answer in plain text say of what is not there. */
const MISSING = /^\s*(?:sprite|session|checkpoint)\b[^<]*\bnot found\b/i;

/** What a code means of a read, and of a write where it differs. */
interface FileFault {
  readonly read: Fault;
  readonly write?: Fault;
}

/** Codes of the file endpoints. */
const BY_FILE_CODE: ReadonlyMap<string | undefined, FileFault> = new Map<string, FileFault>([
  ['ENOENT', { read: ['not_found'], write: ['write_failed', { effect: 'none' }] }],
  ['ENOTDIR', { read: ['not_found'], write: ['write_failed', { effect: 'none' }] }],
  ['EISDIR', { read: ['invalid'], write: ['write_failed', { effect: 'none' }] }],
  ['EEXIST', { read: ['invalid'], write: ['write_failed', { effect: 'none' }] }],
  ['ENOTEMPTY', { read: ['invalid'], write: ['write_failed', { effect: 'none' }] }],
  ['EACCES', { read: ['denied'], write: ['write_failed', { effect: 'none' }] }],
  ['EPERM', { read: ['denied'], write: ['write_failed', { effect: 'none' }] }],
  ['EROFS', { read: ['denied'], write: ['write_failed', { effect: 'none' }] }],
  ['ELOOP', { read: ['invalid'], write: ['write_failed', { effect: 'none' }] }],
  ['EINVAL', { read: ['invalid'] }],
  ['ENAMETOOLONG', { read: ['invalid'] }],
  ['ENOSPC', { read: ['unavailable', { detail: 'disk_full' }], write: ['write_failed', { detail: 'disk_full' }] }],
  ['EIO', { read: ['unavailable'], write: ['write_failed'] }],
]);

/**
 * What an answer other than a success means. Goes by the status, and for files by the code in the body: a 404 of theirs
 * without one is the sprite's. Of a 404 only the service's own is believed. The body's text, which may hold anything, is
 * not repeated.
 *
 * @param use `read` and `write` of a file heed its codes
 */
export function answerError(answer: FailedAnswer, use?: 'read' | 'write'): SandboxError {
  const { status } = answer;
  const body = bodyOf(answer);
  const fileCode = fileCodeOf(answer);
  const ofFile = use && BY_FILE_CODE.get(fileCode);
  const [code, init] = (use === 'write' ? (ofFile?.write ?? ofFile?.read) : ofFile?.read) ?? byStatus(answer);
  const waitMs = waitOf(answer, body?.['retry_after_seconds']);
  const error = new SandboxError(code, {
    ...init,
    ...(ofFile && init?.effect === undefined && status < 500 && { effect: 'none' as const }),
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    message: `the Sprites API answered ${status}${ofFile ? ` ${fileCode}` : ''}`,
  });
  return afterEarlier(error, answer);
}

function byStatus(answer: FailedAnswer): Fault {
  const { status } = answer;
  if (status !== 404 && status !== 410) return faultOf(status, BY_STATUS);
  return saysMissing(answer) ? ['not_found'] : NOT_UNDERSTOOD;
}

/**
 * Whether the service itself says that there is no such thing: a gateway, or a base URL that leads elsewhere, has a 404
 * of its own and knows nothing of what is there.
 */
export function saysMissing(answer: Pick<FailedAnswer, 'status' | 'text'>): boolean {
  if (answer.status !== 404 && answer.status !== 410) return false;
  const body = bodyOf(answer);
  return typeof body?.['error'] === 'string' || typeof body?.['code'] === 'string' || MISSING.test(answer.text());
}

/** A page for people, which the service never answers with. */
export function isPage(answer: Pick<FailedAnswer, 'text'>): boolean {
  return /^\s*</.test(answer.text());
}

/** The code of POSIX in a refusal of a file endpoint. */
export function fileCodeOf(answer: Pick<FailedAnswer, 'text'>): string | undefined {
  const code = bodyOf(answer)?.['code'];
  return typeof code === 'string' ? code : undefined;
}

/** The number in the body is more exact than the header. */
function waitOf({ status, headers }: FailedAnswer, seconds: unknown): number | undefined {
  if (status !== 429 && status < 500) return undefined;
  return secondsToMs(seconds) ?? retryAfterMs(headers.get('retry-after'));
}

/** A success whose body is not what it must be. */
export function malformedReply(what: string): SandboxError {
  return malformedAnswer('the Sprites API', what);
}

/** A list that says how many it holds, and holds fewer, is no list. @throws {SandboxError} */
export function checkCount(body: unknown, entries: readonly unknown[], what: string): void {
  const count = asObject(body)?.['count'];
  if (count !== undefined && count !== entries.length) throw malformedReply(what);
}

export function noToken(): SandboxError {
  return new SandboxError('denied', { effect: 'none', message: 'no token: set SPRITES_TOKEN, or the option token' });
}

export function anotherIncarnation(name: string): SandboxError {
  return new SandboxError('not_found', {
    effect: 'none',
    message: `the sprite '${name}' is another one than the handle names`,
  });
}

/** Of a refusal that leaves open why, and a name that was found to be taken. */
export function nameTaken(name: string): SandboxError {
  return new SandboxError('already_exists', { effect: 'none', message: `there is a sprite '${name}' already` });
}

export function restoreFailed(): SandboxError {
  return new SandboxError('restore_failed', { message: 'the Sprites API reported that the restore failed' });
}
