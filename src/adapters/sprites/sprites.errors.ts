import { SandboxError } from '#libs/contract';
import { bodyOf, faultOf, malformedAnswer, type FailedAnswer, type Fault } from '../common/failed-answer.js';
import { retryAfterMs, secondsToMs } from '../common/retry-after.js';

const BY_STATUS: Readonly<Record<number, Fault>> = {
  404: ['not_found'],
  409: ['already_exists'],
  410: ['not_found'],
};

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
 * without one is the sprite's. The body's text, which may hold anything, is not repeated.
 *
 * @param use `read` and `write` of a file heed its codes
 */
export function answerError(answer: FailedAnswer, use?: 'read' | 'write'): SandboxError {
  const { status } = answer;
  // A gateway, or a base URL that leads elsewhere, knows nothing of what is there.
  if ((status === 404 || status === 410) && isPage(answer)) return malformedReply(`status ${status} with a page`);
  const body = bodyOf(answer);
  const fileCode = fileCodeOf(answer);
  const ofFile = use && BY_FILE_CODE.get(fileCode);
  const [code, init] = (use === 'write' ? (ofFile?.write ?? ofFile?.read) : ofFile?.read) ?? faultOf(status, BY_STATUS);
  const waitMs = waitOf(answer, body?.['retry_after_seconds']);
  return new SandboxError(code, {
    ...init,
    ...(ofFile && init?.effect === undefined && status < 500 && { effect: 'none' as const }),
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    message: `the Sprites API answered ${status}${ofFile ? ` ${fileCode}` : ''}`,
  });
}

/** Whether the service says that there is no sprite of a name, and not something on the way to it. */
export function saysNoSprite(answer: Pick<FailedAnswer, 'status' | 'text'>): boolean {
  return answer.status === 404 && typeof bodyOf(answer)?.['error'] === 'string';
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
