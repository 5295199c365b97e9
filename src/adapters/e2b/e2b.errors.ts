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
import type { JsonObject } from '../common/json.js';
import { retryAfterMs } from '../common/retry-after.js';

/** Of every HTTP answer, wherever it comes from. A conflict is a change of state that is under way. */
const BY_STATUS: Readonly<Record<number, Fault>> = {
  404: NOT_UNDERSTOOD,
  409: ['unavailable', { effect: 'none' }],
  410: NOT_UNDERSTOOD,
};

/** Slugs of the control plane for what it refused before it made anything. */
const REFUSED: ReadonlySet<unknown> = new Set([
  'sandbox_capacity_unavailable',
  'sandbox_no_compatible_node',
  'sandbox_memory_override_disabled',
]);

/** Codes of Connect, which envd's calls fail with: by HTTP status when they are unary, inside the stream otherwise. */
const BY_CONNECT_CODE: ReadonlyMap<unknown, Fault> = new Map<string, Fault>([
  ['canceled', ['unavailable', { effect: 'unknown' }]],
  ['unknown', ['provider', { effect: 'unknown' }]],
  ['invalid_argument', ['invalid']],
  ['deadline_exceeded', ['unavailable', { effect: 'unknown' }]],
  ['not_found', ['not_found']],
  ['already_exists', ['invalid']],
  ['permission_denied', ['denied']],
  ['resource_exhausted', ['rate_limited']],
  ['failed_precondition', ['invalid']],
  ['aborted', ['unavailable', { effect: 'unknown' }]],
  ['out_of_range', ['invalid']],
  ['unimplemented', ['not_supported']],
  ['internal', ['unavailable', { effect: 'unknown' }]],
  ['unavailable', ['unavailable', { effect: 'unknown' }]],
  ['data_loss', ['provider', { effect: 'unknown' }]],
  ['unauthenticated', ['denied']],
]);

/**
 * What an answer other than a success means. Goes by the code of Connect in the body, which is a word, and else by the
 * status: the number in a body repeats that. The body's text, which may hold anything, is not repeated.
 */
export function answerError(answer: FailedAnswer): SandboxError {
  const { status, headers } = answer;
  const body = bodyOf(answer);
  const connectCode = connectCodeOf(answer);
  const [code, init] = BY_CONNECT_CODE.get(connectCode) ?? byStatus(status, body);
  const waitMs = status === 429 || status >= 500 ? retryAfterMs(headers.get('retry-after')) : undefined;
  const error = new SandboxError(code, {
    ...init,
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    message: `E2B answered ${status}${connectCode === undefined ? '' : ` ${connectCode}`}`,
  });
  return afterEarlier(error, answer);
}

/**
 * As {@link answerError}, of a call of envd. A 404 is then about nothing that could be missing unless the call itself
 * says so, by a code of Connect.
 */
export function callError(method: string, answer: FailedAnswer): SandboxError {
  return answer.status === 404 && connectCodeOf(answer) === undefined ? malformedReply(method) : answerError(answer);
}

/** Of a 404 only the service's own is believed. */
function byStatus(status: number, body: JsonObject | undefined): Fault {
  if (status === 404 && body?.['code'] === 404) return ['not_found'];
  if (status >= 500 && isRefusal(body)) return ['unavailable', { effect: 'none' }];
  return faultOf(status, BY_STATUS);
}

/** Whether the service itself says that there is no such thing: a gateway, or a wrong address, has a 404 of its own. */
export function isMissing(answer: Pick<FailedAnswer, 'status' | 'text'>): boolean {
  return answer.status === 404 && bodyOf(answer)?.['code'] === 404;
}

function isRefusal(body: JsonObject | undefined): boolean {
  return REFUSED.has(body?.['error_code']);
}

/** What the last message of a stream says went wrong. */
export function streamError(code: unknown): SandboxError {
  const known = BY_CONNECT_CODE.get(code);
  const [mapped, init] = known ?? ['provider', { detail: 'malformed_frame', effect: 'unknown' } as const];
  return new SandboxError(mapped, {
    ...init,
    message: `E2B ended the stream with ${known ? String(code) : 'an error of no known code'}`,
  });
}

/** `undefined`: not an error of envd's calls, but of the way to it. */
export function connectCodeOf(answer: Pick<FailedAnswer, 'text'>): string | undefined {
  const code = bodyOf(answer)?.['code'];
  return typeof code === 'string' && BY_CONNECT_CODE.has(code) ? code : undefined;
}

/**
 * Whether the proxy before the sandboxes found no way in, and did nothing: the sandbox is paused, changes its state, is
 * gone, or does not listen yet. Which of these, only the control plane knows.
 */
export function isUnreached(answer: FailedAnswer): boolean {
  const { status } = answer;
  return (status === 502 || status === 409) && typeof bodyOf(answer)?.['sandboxId'] === 'string';
}

/** A sandbox's file, read. */
export function readError(answer: FailedAnswer): SandboxError {
  return answer.status === 416 ? malformedReply('the file') : answerError(answer);
}

/** An upload goes to a place of its own: whatever fails leaves the file that was meant. */
export function uploadError(answer: FailedAnswer): SandboxError {
  if (answer.status === 507) {
    return new SandboxError('write_failed', { detail: 'disk_full', effect: 'none', message: 'the disk is full' });
  }
  const error = answerError(answer);
  if (error.code !== 'invalid' && error.code !== 'not_found') return error;
  return new SandboxError('write_failed', { effect: 'none', message: error.message });
}

/** A success whose body is not what it must be. */
export function malformedReply(what: string): SandboxError {
  return malformedAnswer('E2B', what);
}

export function noApiKey(): SandboxError {
  return new SandboxError('denied', { effect: 'none', message: 'no key: set E2B_API_KEY, or the option apiKey' });
}

export function noDomain(): SandboxError {
  return new SandboxError('invalid', {
    effect: 'none',
    message: 'where the sandboxes are is not known: set E2B_DOMAIN or E2B_SANDBOX_URL',
  });
}

export function noSandbox(name: string): SandboxError {
  return new SandboxError('not_found', { effect: 'none', message: `there is no sandbox '${name}'` });
}

/** Of what only asked, or changed nothing yet that counts. */
export function changedNothing(error: unknown): never {
  throw error instanceof SandboxError ? error.with({ effect: 'none' }) : error;
}

/** What a sandbox that neither runs nor is gone answers after all patience. */
export function unreachable(): SandboxError {
  return new SandboxError('unavailable', { effect: 'none', message: 'the sandbox cannot be reached at the moment' });
}
