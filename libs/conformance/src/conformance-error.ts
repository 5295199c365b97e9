import { types } from 'node:util';
import type { ConformanceCase } from './conformance-case.js';
import { Mismatch } from './mismatch.js';
import { PROMISES } from './promises.js';
import type { Transcript } from './transcript.js';

/** An error that nothing expected, and where it and those behind it come from. */
function thrown(error: unknown, label = 'observed: '): string[] {
  if (!types.isNativeError(error)) return [`${label}${String(error)}`];
  const said = `${label}${error.stack ?? error.message}`;
  return error.cause === undefined ? [said] : [said, ...thrown(error.cause, 'cause:    ')];
}

/** Why a case failed, with everything needed to find out more. */
export class ConformanceError extends Error {
  override readonly name = 'ConformanceError';
  readonly id: string;

  constructor({ id, level, title, promise }: ConformanceCase, cause: unknown, transcript: Transcript) {
    const seen =
      cause instanceof Mismatch
        ? [`in:       ${cause.what}`, `expected: ${cause.expected}`, `observed: ${cause.observed}`]
        : thrown(cause);
    super(
      [
        `${id} (${level}) ${title}`,
        ...seen,
        `promise:  ${PROMISES[promise]} (docs/conformance.md#${promise})`,
        ...transcript.lines().map((line) => `  ${line}`),
      ].join('\n'),
      { cause },
    );
    this.id = id;
  }
}
