import type { Answer } from '../kit/answer.js';
import type { StreamRewrite, StreamStep } from '../kit/fault.js';
import { envelope, LAST, type ConnectError } from './connect-protocol.js';

type Data = Extract<StreamStep, { readonly data: Buffer }>;

function isData(step: StreamStep): step is Data {
  return 'data' in step;
}

function messageOf({ data }: Data): Record<string, unknown> {
  return JSON.parse(data.subarray(5).toString()) as Record<string, unknown>;
}

function eventOf(step: StreamStep): Readonly<Record<string, unknown>> {
  return isData(step) && step.data[0] !== LAST ? (Object(messageOf(step)['event']) as Record<string, unknown>) : {};
}

function isLast(step: StreamStep): boolean {
  return isData(step) && step.data[0] === LAST;
}

function framed(data: Buffer): Data {
  return { data, binary: true };
}

/** Changes the event that tells of the exit. */
function onEnd(change: (step: StreamStep) => readonly StreamStep[]): StreamRewrite {
  return (step) => ('end' in eventOf(step) ? change(step) : [step]);
}

/** Changes the last envelope. */
function onLast(change: (step: StreamStep) => readonly StreamStep[]): StreamRewrite {
  return (step) => (isLast(step) ? change(step) : [step]);
}

const CUT: StreamStep = { close: 1006 };

/** What is odd about the stream of a `Start` or a `Connect`, for `Fault.rewrite`. Functions make one for a stream each. */
export const E2B_STREAM_FAULTS = {
  /** The connection is cut in the place of the first event: the process runs, and nobody learned its pid. */
  cutBeforeStart: (() => [CUT]) satisfies StreamRewrite,
  /** The connection is cut in the middle of the first output. */
  cutInFrame: ((step) => {
    return isData(step) && 'data' in eventOf(step) ? [framed(step.data.subarray(0, 9)), CUT] : [step];
  }) satisfies StreamRewrite,
  /** The connection is cut in the place of the exit. */
  cutBeforeEnd: onEnd(() => [CUT]),
  /** The connection is cut between the exit and the last envelope. */
  cutAfterEnd: onLast(() => [CUT]),
  /** An orderly end of the body after the exit, without the last envelope. */
  noLastEnvelope: onLast(() => []),
  /** An orderly end of everything, without the exit. */
  noEnd: onEnd(() => []),
  /** The last envelope, without the exit before it, tells of an error. */
  errorInsteadOfEnd: (error: ConnectError | { readonly code: string; readonly message: string }): StreamRewrite => {
    return (step) => {
      if ('end' in eventOf(step)) return [];
      return isLast(step) ? [framed(envelope(LAST, { error, metadata: {} }))] : [step];
    };
  },
  /** Every frame comes byte by byte. */
  splitFrames: ((step) => {
    return isData(step) ? [...step.data].map((byte) => framed(Buffer.of(byte))) : [step];
  }) satisfies StreamRewrite,
  /** Output is cut into events of one byte, characters included. */
  splitOutput: ((step) => {
    const output = Object.entries(Object(eventOf(step)['data']) as Record<string, string>)[0];
    if (!output) return [step];
    const [kind, text] = output;
    return [...Buffer.from(text, 'base64')].map((byte) => {
      return framed(envelope(0, { event: { data: { [kind]: Buffer.of(byte).toString('base64') } } }));
    });
  }) satisfies StreamRewrite,
  /** Everything after `start` comes in one chunk, at the end. */
  joinedFrames: (): StreamRewrite => {
    const held: Buffer[] = [];
    return (step) => {
      if (!isData(step) || 'start' in eventOf(step)) return [step];
      held.push(step.data);
      return isLast(step) ? [framed(Buffer.concat(held))] : [];
    };
  },
  /** Events that nobody knows come in between, and fields that nobody knows in all others. */
  unknownEvents: ((step) => {
    if (!isData(step) || isLast(step)) return [step];
    const { event } = messageOf(step) as { readonly event: Record<string, unknown> };
    const more = { event: { ...event, sequence: '7' }, trace: { id: 'x' } };
    return [framed(envelope(0, { event: { pulse: { beat: 1 } } })), framed(envelope(0, more))];
  }) satisfies StreamRewrite,
} as const;

/** What others than the emulated parts answer at times, for `Fault.answer`. */
export const E2B_ANSWERS = {
  /** Too many requests. Without a time the client is not told when to come again. */
  rateLimited: (retryAfterSeconds?: number): Answer => ({
    status: 429,
    headers: {
      'ratelimit-limit': '20000',
      'ratelimit-remaining': '0',
      ...(retryAfterSeconds !== undefined && {
        'ratelimit-reset': String(retryAfterSeconds),
        'retry-after': String(retryAfterSeconds),
      }),
    },
    json: { code: 429, message: 'Rate limit exceeded' },
  }),
  /** A node that cannot pause or snapshot at this moment; the sandbox runs on. */
  busy: { status: 503, json: { code: 503, message: 'Sandbox cannot be paused right now, please retry' } },
  noCapacity: {
    status: 503,
    json: { code: 503, message: 'No capacity for the sandbox', error_code: 'sandbox_capacity_unavailable' },
  },
  placementTimeout: {
    status: 504,
    json: { code: 504, message: 'Placing the sandbox took too long', error_code: 'sandbox_placement_timeout' },
  },
  /** To a timeout that comes when the sandbox has run as long as it may. */
  maxLength: { status: 400, json: { code: 400, message: 'Max instance length exceeded' } },
  /** What a load balancer says, which is no JSON. */
  gatewayTimeout: { status: 504, html: '<html><body>upstream request timeout</body></html>' },
  /** A 502 of the edge that means nothing: the sandbox is there. */
  noRoute: (sandboxId: string): Answer => ({
    status: 502,
    json: { sandboxId, message: 'The sandbox was not found', code: 502 },
  }),
} as const satisfies Readonly<Record<string, Answer | ((...values: never[]) => Answer)>>;
