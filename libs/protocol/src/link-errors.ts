import { SANDBOX_ERROR_DETAILS, SandboxError, type SandboxEffect, type SandboxErrorDetail } from '#libs/contract/core';
import { ReplayEvicted } from './refusal.js';
import type { ShapeError } from './field.js';
import { ERROR_WORDS, isReadOnly, type RefusalBody, type RequestOp } from './table.js';

// What goes wrong between a caller and a daemon, as errors of the contract.

/** The effect of a request that was handed over and not answered as promised. */
export function effectOnceSent(op: RequestOp): SandboxEffect {
  return isReadOnly(op) ? 'none' : 'unknown';
}

export function disconnected(effect: SandboxEffect): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'runner_disconnected',
    effect,
    message: 'the connection to the runner ended',
  });
}

export function draining(): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'draining',
    effect: 'none',
    message: 'this node is shutting down and takes no new calls',
  });
}

export function runnerTimeout(op: RequestOp, timeoutMs: number, effect: SandboxEffect): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'runner_timeout',
    effect,
    message: `${op}: the runner did not answer within ${timeoutMs} ms`,
  });
}

export function aborted(signal: AbortSignal | undefined, effect: SandboxEffect): SandboxError {
  return new SandboxError('aborted', { effect, message: 'the caller aborted', cause: signal?.reason });
}

export function requestTooLarge(op: RequestOp, maxFrameBytes: number): SandboxError {
  return new SandboxError('invalid', {
    detail: 'request_too_large',
    effect: 'none',
    message: `${op}: the request takes more than the ${maxFrameBytes} bytes of one frame`,
  });
}

export function badBody(op: RequestOp): SandboxError {
  return new SandboxError('invalid', {
    detail: 'argument',
    effect: 'none',
    message: `${op}: the request has no wire form`,
  });
}

export function malformedReply(op: RequestOp, problem: string): SandboxError {
  return new SandboxError('provider', {
    detail: 'malformed_reply',
    effect: effectOnceSent(op),
    message: `${op}: malformed reply: ${problem}`,
  });
}

export function malformedFrame(problem: ShapeError | string): SandboxError {
  const said = typeof problem === 'string' ? problem : problem.message;
  return new SandboxError('provider', { detail: 'malformed_frame', message: `malformed frame of a session: ${said}` });
}

export function streamGap(message: string): SandboxError {
  return new SandboxError('provider', { detail: 'stream_gap', message });
}

export function beyondEnd(): SandboxError {
  const message = 'attach: the session ended before the byte that was asked for';
  return new SandboxError('invalid', { detail: 'offset_beyond_end', effect: 'none', message });
}

export function detached(effect: SandboxEffect = 'none'): SandboxError {
  return new SandboxError('unavailable', { detail: 'detached', effect, message: 'detached from the session' });
}

export function commandExited(effect: SandboxEffect = 'none'): SandboxError {
  return new SandboxError('command_exited', { effect, message: 'the command has exited' });
}

export function stdinTaken(): SandboxError {
  const message = 'another attach to the session owns its stdin';
  return new SandboxError('invalid', { detail: 'stdin_not_open', effect: 'none', message });
}

/** A daemon's refusal; `about` is the operation, or what else it was about. */
export function refused(about: RequestOp | 'session', refusal: RefusalBody): SandboxError {
  const said = clean(refusal.detail ?? '');
  const known = ERROR_WORDS.find((word) => word === refusal.error);
  const code = known ?? 'provider';
  const speaksOurs = known !== undefined || refusal.error === 'provider';
  const detail =
    speaksOurs && isDetail(refusal.detail) ? refusal.detail : known === undefined || said !== '' ? 'remote' : undefined;
  const word = known ?? (clean(refusal.error) || 'an error without a name');
  return new SandboxError(code, {
    message: `${about}: the runner answered ${word}${said === '' ? '' : `: ${said}`}`,
    ...(detail !== undefined && { detail }),
    effect: refusal.effect ?? effectOfRefusal(about, code),
    ...(refusal.oldest !== undefined && { cause: new ReplayEvicted(refusal.oldest) }),
  });
}

const UNCERTAIN: ReadonlySet<string> = new Set(['unavailable', 'write_failed', 'truncated', 'provider']);

function effectOfRefusal(about: RequestOp | 'session', code: string): SandboxEffect {
  if (!UNCERTAIN.has(code)) return 'none';
  return about === 'session' ? 'unknown' : effectOnceSent(about);
}

function isDetail(text: string | undefined): text is SandboxErrorDetail {
  return (SANDBOX_ERROR_DETAILS as readonly (string | undefined)[]).includes(text);
}

const MAX_TEXT = 500;

/** Text of a peer, fit for a message. */
function clean(text: string): string {
  return text
    .slice(0, MAX_TEXT)
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
}
