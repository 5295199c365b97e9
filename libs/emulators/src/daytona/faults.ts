import type { Answer } from '../kit/answer.js';
import type { StreamRewrite, StreamStep } from '../kit/fault.js';
import { FIRST_PAGE } from './list.js';

/** Answers of the toolbox and of its proxy that a test cannot provoke otherwise, for `Fault.answer`. */
export const TOOLBOX_ANSWERS = {
  /** The proxy cannot reach the daemon. */
  badGateway: { status: 502 },
  /** The record of an exit was there and still empty. Only for the call on a command. */
  exitCodeNotWritten: {
    status: 500,
    json: { statusCode: 500, message: 'failed to convert exit code to int: strconv.Atoi: parsing "": invalid syntax' },
  },
  /** An identity provider has its page instead of an answer. */
  signIn: { status: 307, headers: { location: 'https://daytona.test/sign-in' } },
} as const satisfies Readonly<Record<string, Answer>>;

/** What is odd about the frames of a log socket, for `Fault.rewrite`. Those that are functions make one for a stream. */
export const LOG_FAULTS = {
  /** Every byte is a frame, so that markers and characters are cut. */
  splitFrames: ((step: StreamStep) => {
    if (!('data' in step)) return [step];
    return [...step.data].map((byte) => ({ data: Buffer.from([byte]), binary: true }));
  }) satisfies StreamRewrite,
  /** Closes after so many bytes, with `code`; 1006 cuts the connection. */
  endsAfter: (bytes: number, code = 1000): StreamRewrite => {
    let left = bytes;
    return (step) => {
      if (!('data' in step)) return [step];
      const data = step.data.subarray(0, left);
      left -= data.length;
      return left > 0 ? [{ ...step, data }] : [{ ...step, data }, { close: code }];
    };
  },
  /** Goes on after all was sent: no close ever comes. */
  neverCloses: ((step: StreamStep) => ('close' in step ? [] : [step])) satisfies StreamRewrite,
} as const;

/** Changes the body of an answer that is one JSON object. */
function onJson(change: (body: Record<string, unknown>) => unknown): StreamRewrite {
  return (step) => {
    if (!('data' in step)) return [step];
    const body = JSON.parse(step.data.toString()) as Record<string, unknown>;
    return [{ data: Buffer.from(JSON.stringify(change(body))), binary: true }];
  };
}

/** What is odd about a page of the listing, for `Fault.rewrite`. */
export const SANDBOX_PAGE_FAULTS = {
  /** There is always more, behind a cursor that begins anew. */
  repeatedCursor: onJson((body) => ({ ...body, nextCursor: FIRST_PAGE })),
  /** The entries alone. */
  bareArray: onJson(({ items }) => items),
  /** The cursor goes by another name. */
  otherCursorName: onJson(({ nextCursor: cursor, ...body }) => ({ ...body, cursor })),
  /** The entries are missing. */
  withoutItems: onJson(({ nextCursor }) => ({ nextCursor })),
} as const;
