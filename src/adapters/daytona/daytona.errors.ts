import { SandboxError } from '#libs/contract';
import {
  afterEarlier,
  bodyOf,
  faultOf,
  malformedAnswer,
  type FailedAnswer,
  type Fault,
} from '../common/failed-answer.js';
import type { JsonObject } from '../common/json.js';
import { retryAfterMs } from '../common/retry-after.js';

/** Of both services. A 404 is looked at more closely, since both give it for much else than a missing sandbox. */
const BY_STATUS: Readonly<Record<number, Fault>> = {
  402: ['denied'],
  404: ['unavailable', { effect: 'none' }],
  405: ['not_supported'],
  409: ['unavailable', { effect: 'none' }],
  410: ['unavailable', { effect: 'none' }],
  422: ['not_supported'],
  423: ['unavailable', { effect: 'none' }],
  425: ['unavailable', { effect: 'none' }],
};

/** Codes of the file calls. */
const BY_FILE_CODE: ReadonlyMap<string | undefined, Fault> = new Map<string, Fault>([
  ['FILE_NOT_FOUND', ['not_found']],
  ['FILE_ACCESS_DENIED', ['denied']],
  ['FILE_READ_FAILED', ['unavailable']],
  ['INVALID_FILE_PATH', ['invalid']],
]);

/**
 * What an answer of the control plane other than a success means. A 404 is `not_found` only where the service itself
 * says so; of a route that an organization does not have it is `not_supported`, and otherwise it says nothing. The
 * body's text, which may hold anything, is not repeated.
 */
export function apiError(answer: FailedAnswer): SandboxError {
  const { status } = answer;
  if (isNotFound(answer)) return errorOf('API', answer, ['not_found']);
  if (status === 404 && isMissingRoute(bodyOf(answer))) return errorOf('API', answer, ['not_supported']);
  return errorOf('API', answer, faultOf(status, BY_STATUS));
}

/** As {@link apiError} of what belongs to a sandbox: a 404 says nothing of the sandbox itself. */
export function partError(answer: FailedAnswer): SandboxError {
  return isNotFound(answer) ? errorOf('API', answer, faultOf(404, BY_STATUS)) : apiError(answer);
}

/** Whether the control plane says that there is no such thing: a 404 of its own, and not of a route or of a gateway. */
export function isNotFound(answer: FailedAnswer): boolean {
  if (answer.status !== 404) return false;
  const body = bodyOf(answer);
  return body?.['statusCode'] === 404 && typeof body['path'] === 'string' && !isMissingRoute(body);
}

/** Whether the control plane says that a name is taken, as it does with every 409 of its own to a creation. */
export function saysTaken(answer: FailedAnswer): boolean {
  return answer.status === 409 && bodyOf(answer)?.['statusCode'] === 409;
}

/** What an answer of the toolbox other than a success means, to which the sandbox itself is known to be there. */
export function toolboxError(answer: FailedAnswer): SandboxError {
  return errorOf(
    'toolbox',
    answer,
    isParked(answer) ? ['unavailable', { effect: 'none' }] : faultOf(answer.status, BY_STATUS),
  );
}

/**
 * As {@link toolboxError} of a call on a file: its codes count, and where there are none, as in old daemons, its status.
 * Only for answers that came from the daemon; see {@link neverArrived}.
 */
export function fileError(answer: FailedAnswer): SandboxError {
  const known = BY_FILE_CODE.get(codeOf(bodyOf(answer)));
  if (known) return errorOf('toolbox', answer, known);
  return saysNoFile(answer) ? errorOf('toolbox', answer, ['not_found']) : toolboxError(answer);
}

/** Whether a daemon without codes for files says that there is none: old ones say nothing at all beside the status. */
function saysNoFile(answer: FailedAnswer): boolean {
  if (answer.status !== 404) return false;
  if (answer.text() === '') return true;
  const body = bodyOf(answer);
  return codeOf(body) === 'NOT_FOUND' && !/^not found: sandbox/i.test(String(body?.['message']));
}

/** Whether the proxy says that the sandbox does not run, so that the request has not reached it. */
export function isParked(answer: FailedAnswer): boolean {
  if (answer.status !== 400) return false;
  const message = bodyOf(answer)?.['message'];
  return typeof message === 'string' && /failed to resolve container|is the sandbox started/i.test(message);
}

/** Whether a toolbox answer may be of the proxy, about the sandbox, rather than of the daemon in it. */
export function neverArrived(answer: FailedAnswer): boolean {
  const { status } = answer;
  if (status === 401 || isParked(answer)) return true;
  return status === 404 && !(codeOf(bodyOf(answer)) ?? '').startsWith('FILE_');
}

/** Whether an answer says nothing about whether the request was carried out. */
export function isGatewayFailure({ status }: FailedAnswer): boolean {
  return status >= 502 && status <= 504;
}

/** Whether the same request may fare better a little later. */
export function isOverload({ status }: FailedAnswer): boolean {
  return status === 429 || status >= 500;
}

/** Whether a 400 of the network settings says that the organization may not set them. */
export function isRestricted(answer: FailedAnswer): boolean {
  const message = bodyOf(answer)?.['message'];
  return answer.status === 400 && typeof message === 'string' && /restricted/i.test(message);
}

function errorOf(who: 'API' | 'toolbox', answer: FailedAnswer, [code, init]: Fault): SandboxError {
  const waitMs = waitOf(answer);
  const error = new SandboxError(code, {
    ...init,
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    message: `the Daytona ${who} answered ${answer.status}`,
  });
  return afterEarlier(error, answer);
}

/** The longest of all headers that say when to come back; most carry the name of a limit at their end. */
function waitOf({ status, headers }: FailedAnswer): number | undefined {
  if (status !== 429 && status < 500) return undefined;
  const waits = [...headers]
    .filter(([name]) => name.toLowerCase().startsWith('retry-after'))
    .flatMap(([, value]) => retryAfterMs(value) ?? []);
  return waits.length > 0 ? Math.max(...waits) : undefined;
}

function codeOf(body: JsonObject | undefined): string | undefined {
  return typeof body?.['code'] === 'string' ? body['code'] : undefined;
}

function isMissingRoute(body: JsonObject | undefined): boolean {
  return typeof body?.['message'] === 'string' && /^Cannot [A-Z]+ \//.test(body['message']);
}

/** A success whose body is not what it must be. */
export function malformedReply(what: string): SandboxError {
  return malformedAnswer('the Daytona API', what);
}

export function noApiKey(): SandboxError {
  return new SandboxError('denied', { effect: 'none', message: 'no key: set DAYTONA_API_KEY, or the option apiKey' });
}

export function noSandbox(name: string): SandboxError {
  return new SandboxError('not_found', { effect: 'none', message: `there is no sandbox '${name}'` });
}

/** It is there, and will not run by waiting. */
export function failedSandbox(name: string, state: string): SandboxError {
  return new SandboxError('provider', { effect: 'none', message: `the sandbox '${name}' is in state ${state}` });
}
