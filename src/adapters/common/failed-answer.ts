import { SandboxError, type SandboxEffect, type SandboxErrorCode, type SandboxErrorInit } from '#libs/contract';
import { asObject, parseJson, type JsonObject } from './json.js';

/** What of an answer says what went wrong. */
export interface FailedAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** What earlier attempts at the same request may have done. @default 'none' */
  readonly earlier?: SandboxEffect;
  text(): string;
}

/** What a failure means. */
export type Fault = readonly [code: SandboxErrorCode, init?: Pick<SandboxErrorInit, 'detail' | 'effect'>];

/** What a status means at every provider, beside what each has of its own. */
const BY_STATUS: Readonly<Record<number, Fault>> = {
  401: ['denied'],
  403: ['denied'],
  408: ['unavailable', { effect: 'unknown' }],
  413: ['invalid', { detail: 'request_too_large' }],
  414: ['invalid', { detail: 'request_too_large' }],
  429: ['rate_limited'],
  431: ['invalid', { detail: 'request_too_large' }],
};

/**
 * What the status of an answer other than a success means. Other 4xx are refusals; 5xx may come after the effect; a
 * redirect is not followed, and nothing else is understood.
 *
 * @param own what some statuses mean at this provider
 */
export function faultOf(status: number, own: Readonly<Record<number, Fault>>): Fault {
  const known = own[status] ?? BY_STATUS[status];
  if (known) return known;
  if (status >= 500) return ['unavailable', { effect: 'unknown' }];
  if (status >= 400) return ['invalid'];
  return NOT_UNDERSTOOD;
}

/** Of an answer that makes no sense. */
export const NOT_UNDERSTOOD: Fault = ['provider', { detail: 'malformed_reply', effect: 'unknown' }];

/** `error`, which the answer means: what refuses the last attempt says nothing of an earlier one that may have acted. */
export function afterEarlier(error: SandboxError, { earlier = 'none' }: Pick<FailedAnswer, 'earlier'>): SandboxError {
  return error.effect === 'none' && earlier !== 'none' ? error.with({ effect: earlier }) : error;
}

/** Of a look at what became of something that was asked for before: that may have been done, however the look fails. */
export function mayHaveActed(error: unknown): never {
  throw error instanceof SandboxError ? afterEarlier(error, { earlier: 'unknown' }) : error;
}

/** The body of an answer where that is a JSON object. */
export function bodyOf(answer: Pick<FailedAnswer, 'text'>): JsonObject | undefined {
  return asObject(parseJson(answer.text()));
}

/** A success whose body is not what it must be. @param who the service */
export function malformedAnswer(who: string, what: string): SandboxError {
  const [code, init] = NOT_UNDERSTOOD;
  return new SandboxError(code, { ...init, message: `${what}: ${who} answered something else than it should` });
}

/** Of a failure to look whether `what` is so: nobody knows. Whoever aborted is told that alone. */
export function notProved(what: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof SandboxError && error.code === 'aborted') throw error.with({ effect: 'unknown' });
    throw unconfirmed(what, error);
  };
}

/** Something was asked for, and nothing says that it was done. */
export function unconfirmed(what: string, cause?: unknown): SandboxError {
  return new SandboxError('unavailable', {
    effect: 'unknown',
    message: `${what} was not confirmed`,
    ...(cause !== undefined && { cause }),
  });
}
