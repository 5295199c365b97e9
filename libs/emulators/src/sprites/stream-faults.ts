import type { StreamRewrite, StreamStep } from '../kit/fault.js';
import { FRAME } from './exec-frames.js';

type Data = Extract<StreamStep, { readonly data: Buffer }>;

function isData(step: StreamStep): step is Data {
  return 'data' in step;
}

/** Whether it is the exit, as text or as bytes. */
function isExit(step: StreamStep): boolean {
  if (!isData(step)) return false;
  return step.binary ? step.data[0] === FRAME.exit : step.data.includes('"type":"exit"');
}

function binary(...bytes: number[]): Data {
  return { data: Buffer.from(bytes), binary: true };
}

/** Changes the binary exit frame of a command without a terminal. */
function onExitFrame(change: (step: Data) => readonly StreamStep[]): StreamRewrite {
  return (step) => (isData(step) && step.binary && isExit(step) ? change(step) : [step]);
}

/**
 * What is odd about the frames of an exec, for `Fault.rewrite`. Those that are functions make a rewrite for one stream
 * each. All but `endsWithoutExit` and the two that leave an exit out are meant for commands without a terminal.
 */
export const EXEC_FAULTS = {
  /** Closes with `code` in the place of any exit: 1000, 1006 or 1011. */
  endsWithoutExit: (code: number): StreamRewrite => {
    return (step) => (isExit(step) ? [{ close: code }] : [step]);
  },
  /** The exit frame has no payload. */
  emptyExit: onExitFrame(() => [binary(FRAME.exit)]),
  /** The exit frame has a byte more. */
  twoByteExit: onExitFrame(({ data }) => [binary(FRAME.exit, 0, data[1] ?? 0)]),
  /** A frame of a stream that nobody knows comes before the exit frame. */
  unknownStream: onExitFrame((step) => [binary(9, 120), step]),
  /** No exit frame, only the text. */
  textExitOnly: onExitFrame(() => []),
  /** No text, only the exit frame. */
  binaryExitOnly: ((step) => (isData(step) && !step.binary && isExit(step) ? [] : [step])) satisfies StreamRewrite,
  /** The exit comes twice. */
  repeatedExit: onExitFrame((step) => [step, step]),
  /** Each frame of output is cut into frames of one byte, characters included. */
  splitOutput: ((step) => {
    if (!isData(step) || !step.binary || (step.data[0] !== FRAME.stdout && step.data[0] !== FRAME.stderr))
      return [step];
    return [...step.data.subarray(1)].map((byte) => binary(step.data[0]!, byte));
  }) satisfies StreamRewrite,
  /** The text exit comes before the last output. Output is held back by one frame. */
  textExitBeforeLastOutput: (): StreamRewrite => {
    let held: readonly StreamStep[] = [];
    return (step) => {
      if (isData(step) && step.binary && !isExit(step)) {
        const before = held;
        held = [step];
        return before;
      }
      if (isData(step) && !step.binary && !isExit(step)) return [step];
      const after = held;
      if (isData(step) && !step.binary) return [step];
      held = [];
      return [...after, step];
    };
  },
} as const;

/** Changes the body of an answer that is one JSON object. */
function onJson(change: (body: Record<string, unknown>) => Record<string, unknown>): StreamRewrite {
  return (step) => {
    if (!isData(step)) return [step];
    const body = JSON.parse(step.data.toString()) as Record<string, unknown>;
    return [{ data: Buffer.from(JSON.stringify(change(body))), binary: true }];
  };
}

/** What is odd about a page of the listing, for `Fault.rewrite`. */
export const PAGE_FAULTS = {
  /** There is always more, under one token, which leads to the first page. */
  repeatedToken: onJson((body) => ({
    ...body,
    has_more: true,
    next_continuation_token: Buffer.from('after:').toString('base64url'),
  })),
  /** There is more, without a token to get it by. */
  moreWithoutToken: onJson((body) => ({ ...body, has_more: true, next_continuation_token: null })),
  /** The names are missing. */
  withoutSprites: onJson((body) => ({ ...body, sprites: undefined })),
} as const;

function isLast(step: StreamStep): step is Data {
  return isData(step) && step.data.includes('"type":"complete"');
}

function line(value: Readonly<Record<string, unknown>>): Data {
  return { data: Buffer.from(`${JSON.stringify(value)}\n`), binary: true };
}

/** What is odd about the lines of a kill, a checkpoint or a restore, for `Fault.rewrite`. */
export const LINE_FAULTS = {
  /** The last line comes twice. */
  repeatedComplete: ((step) => (isLast(step) ? [step, step] : [step])) satisfies StreamRewrite,
  /** There is no last line. */
  noComplete: ((step) => (isLast(step) ? [] : [step])) satisfies StreamRewrite,
  /** A line follows the last one. */
  lineAfterComplete: ((step) =>
    isLast(step) ? [step, line({ type: 'info', data: 'late' })] : [step]) satisfies StreamRewrite,
  /** An error line comes before the last one. */
  errorBeforeComplete: ((step) =>
    isLast(step) ? [line({ type: 'error', error: 'mount failed' }), step] : [step]) satisfies StreamRewrite,
  /** The last line is no JSON. */
  garbled: ((step) =>
    isLast(step) ? [{ data: Buffer.from('{"type":\n'), binary: true }] : [step]) satisfies StreamRewrite,
  /** So much comes before the last line that the body is longer than a careful client reads. */
  oversize: ((step) =>
    isLast(step) ? [line({ type: 'info', data: 'x'.repeat(64 * 1024) }), step] : [step]) satisfies StreamRewrite,
} as const;
