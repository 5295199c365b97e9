import { SandboxError, type SandboxErrorCode, type SandboxErrorInit } from '#libs/contract';
import { asObject, parseJson } from '../common/json.js';
import { retryAfterMs, secondsToMs } from '../common/retry-after.js';

/** What of an answer says what went wrong. */
export interface FailedAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): string;
}

type Fault = readonly [code: SandboxErrorCode, init?: Pick<SandboxErrorInit, 'detail' | 'effect'>];

const BY_STATUS: Readonly<Record<number, Fault>> = {
  400: ['invalid'],
  401: ['denied'],
  403: ['denied'],
  404: ['not_found'],
  405: ['invalid'],
  408: ['unavailable'],
  409: ['already_exists'],
  410: ['not_found'],
  413: ['invalid', { detail: 'request_too_large' }],
  414: ['invalid', { detail: 'request_too_large' }],
  422: ['invalid'],
  429: ['rate_limited'],
  431: ['invalid', { detail: 'request_too_large' }],
};

/** Codes of the file endpoints: of a read, and of a write where it differs. */
const BY_FILE_CODE: Readonly<Record<string, { readonly read: Fault; readonly write?: Fault }>> = {
  ENOENT: { read: ['not_found'], write: ['write_failed', { effect: 'none' }] },
  ENOTDIR: { read: ['not_found'], write: ['write_failed', { effect: 'none' }] },
  EISDIR: { read: ['invalid'], write: ['write_failed', { effect: 'none' }] },
  EEXIST: { read: ['invalid'], write: ['write_failed', { effect: 'none' }] },
  ENOTEMPTY: { read: ['invalid'], write: ['write_failed', { effect: 'none' }] },
  EACCES: { read: ['denied'], write: ['write_failed', { effect: 'none' }] },
  EPERM: { read: ['denied'], write: ['write_failed', { effect: 'none' }] },
  EROFS: { read: ['denied'], write: ['write_failed', { effect: 'none' }] },
  ELOOP: { read: ['invalid'], write: ['write_failed', { effect: 'none' }] },
  EINVAL: { read: ['invalid'] },
  ENAMETOOLONG: { read: ['invalid'] },
  ENOSPC: { read: ['unavailable', { detail: 'disk_full' }], write: ['write_failed', { detail: 'disk_full' }] },
  EIO: { read: ['unavailable'], write: ['write_failed'] },
};

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
  const body = asObject(parseJson(answer.text()));
  const fileCode = fileCodeOf(answer);
  const ofFile = use && fileCode !== undefined ? BY_FILE_CODE[fileCode] : undefined;
  const [code, init] = (use === 'write' ? (ofFile?.write ?? ofFile?.read) : ofFile?.read) ?? byStatus(status);
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
  return answer.status === 404 && typeof asObject(parseJson(answer.text()))?.['error'] === 'string';
}

/** A page for people, which the service never answers with. */
export function isPage(answer: Pick<FailedAnswer, 'text'>): boolean {
  return /^\s*</.test(answer.text());
}

/** The code of POSIX in a refusal of a file endpoint. */
export function fileCodeOf(answer: Pick<FailedAnswer, 'text'>): string | undefined {
  const code = asObject(parseJson(answer.text()))?.['code'];
  return typeof code === 'string' ? code : undefined;
}

/** Other 4xx are refusals; 5xx may come after the effect; a redirect is not followed, and nothing else is understood. */
function byStatus(status: number): Fault {
  const known = BY_STATUS[status];
  if (known) return known;
  if (status >= 500) return ['unavailable', { effect: 'unknown' }];
  if (status >= 400) return ['invalid'];
  return ['provider', { detail: 'malformed_reply', effect: 'unknown' }];
}

/** The number in the body is more exact than the header. */
function waitOf({ status, headers }: FailedAnswer, seconds: unknown): number | undefined {
  if (status !== 429 && status < 500) return undefined;
  return secondsToMs(seconds) ?? retryAfterMs(headers.get('retry-after'));
}

/** A success whose body is not what it must be. */
export function malformedReply(what: string): SandboxError {
  return new SandboxError('provider', {
    detail: 'malformed_reply',
    effect: 'unknown',
    message: `${what}: the Sprites API answered something else than it should`,
  });
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

/** Something was asked for, and nothing says that it was done. */
export function unconfirmed(what: string, cause?: unknown): SandboxError {
  return new SandboxError('unavailable', {
    effect: 'unknown',
    message: `${what} was not confirmed`,
    ...(cause !== undefined && { cause }),
  });
}

export function restoreFailed(): SandboxError {
  return new SandboxError('restore_failed', { message: 'the Sprites API reported that the restore failed' });
}

export function foreignSession(): SandboxError {
  return new SandboxError('not_supported', {
    effect: 'none',
    message: 'the session was not started by this library: it cannot be attached or terminated',
  });
}
