import type { Answer } from '../kit/answer.js';
import type { DaytonaAlternatives } from './alternatives.js';

const CODES: Readonly<Record<number, readonly [prefix: string, code: string]>> = {
  400: ['bad request: ', 'BAD_REQUEST'],
  401: ['', 'UNAUTHORIZED'],
  403: ['forbidden: ', 'FORBIDDEN'],
  404: ['not found: ', 'NOT_FOUND'],
  408: ['request timeout: ', 'REQUEST_TIMEOUT'],
  409: ['conflict: ', 'CONFLICT'],
  410: ['gone: ', 'GONE'],
  500: ['internal server error: ', 'INTERNAL_SERVER_ERROR'],
};

/** An answer of the daemon, or of the proxy before it, that is no success. */
export class DaemonFailure extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** What the daemon of the current documents calls it. @default by status */
    readonly code?: string,
  ) {
    super(message);
    this.name = 'DaemonFailure';
  }

  /** With the kind in front, as its body has it. */
  get text(): string {
    return `${CODES[this.status]?.[0] ?? ''}${this.message}`;
  }
}

/** Nothing of it is told but its status. */
export class BareFailure extends Error {
  constructor(readonly answer: Answer) {
    super(`answered with ${answer.status}`);
  }
}

/** @param path as the daemon sees it */
export function daemonAnswer(
  failure: DaemonFailure,
  { method, path }: { readonly method: string; readonly path: string },
  daemon: DaytonaAlternatives['daemon'],
): Answer {
  const { status, code } = failure;
  const known = CODES[status]?.[1] ?? 'INTERNAL_SERVER_ERROR';
  const current = daemon === 'current';
  return {
    status,
    json: {
      statusCode: status,
      message: failure.text,
      code: current ? (code ?? known) : known,
      timestamp: new Date().toISOString(),
      path,
      method,
      ...(current && { source: 'DAYTONA_DAEMON' }),
    },
  };
}

/** A failure that the daemon wrapped until only status and message are left. */
export function wrapped(message: string): BareFailure {
  const json = { statusCode: 500, message, code: '', timestamp: '0001-01-01T00:00:00Z', path: '', method: '' };
  return new BareFailure({ status: 500, json });
}
