import { SandboxError, type SandboxEffect, type StreamOffsets } from '#libs/contract/core';
import { isReadOnly, type RefusalBody, type RequestOp } from './table.js';

/** The `cause` of a `truncated` / `replay_evicted` error: from where on a session can still be replayed. */
export class ReplayEvicted extends Error {
  override readonly name = 'ReplayEvicted';
  constructor(readonly oldest: StreamOffsets) {
    super(`the earliest bytes still kept are stdout ${oldest.stdout}, stderr ${oldest.stderr}`);
  }
}

/** The error of an attach from before the earliest bytes that are kept. */
export function replayEvicted(oldest: StreamOffsets): SandboxError {
  return new SandboxError('truncated', {
    detail: 'replay_evicted',
    effect: 'none',
    cause: new ReplayEvicted(oldest),
  });
}

/**
 * How a failed request is told to the peer. Only a `SandboxError` speaks for itself; anything else is a defect whose
 * message may hold anything, so none of it leaves this process.
 */
export function refusalOf(error: unknown): RefusalBody {
  if (!(error instanceof SandboxError)) return { error: 'provider', detail: 'remote', effect: 'unknown' };
  const detail = error.detail ?? (error.code === 'invalid' ? error.message : undefined);
  return {
    error: error.code,
    ...(detail !== undefined && { detail }),
    effect: error.effect,
    ...(error.cause instanceof ReplayEvicted && { oldest: error.cause.oldest }),
  };
}

/** A result that no frame can carry: nothing of it is sent, since a part would look like the whole. */
export function tooLargeToSend(op: RequestOp): RefusalBody {
  const effect: SandboxEffect = isReadOnly(op) ? 'none' : 'done';
  return { error: 'truncated', detail: 'output_limit', effect };
}
