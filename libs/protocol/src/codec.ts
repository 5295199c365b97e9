import { ShapeError, isObject, readShape, writeShape } from './field.js';
import { toBase64 } from './field-types.js';
import {
  EVENTS,
  REFUSAL,
  REQUESTS,
  isRequestOp,
  type EventBody,
  type EventName,
  type RefusalBody,
  type RequestBody,
  type RequestOp,
  type ResultOf,
} from './table.js';

// Version 1: one JSON object per text frame. Nothing here keeps state.

/** A death by signal n has the code 128 + n. */
const SIGNAL_BASE = 128;

/** A frame that is not a JSON object: the connection it came over is closed with 1003. */
export class NotJsonError extends Error {
  override readonly name = 'NotJsonError';
}

/** A request as the daemon reads it. */
export type RequestFrame =
  | {
      [Op in RequestOp]: {
        readonly kind: 'request';
        readonly id: number;
        readonly op: Op;
        readonly body: RequestBody<Op>;
      };
    }[RequestOp]
  /** `id` is 0 where the frame has none to answer under. */
  | {
      readonly kind: 'bad_request';
      readonly id: number;
      readonly error: 'invalid' | 'not_supported';
      readonly problem: string;
    };

/** A frame of the daemon as the platform reads it. Results are read once it is known what was asked. */
export type DaemonFrame =
  | { readonly kind: 'reply'; readonly id: number; readonly ok: true; readonly result: unknown }
  | { readonly kind: 'reply'; readonly id: number; readonly ok: false; readonly refusal: RefusalBody }
  | { readonly kind: 'bad_reply'; readonly id: number; readonly problem: ShapeError }
  | { [Name in EventName]: { readonly kind: 'event'; readonly event: Name; readonly body: EventBody<Name> } }[EventName]
  | {
      readonly kind: 'bad_event';
      readonly sessionId: string;
      readonly replayFor?: number;
      readonly problem: ShapeError;
    }
  /** Neither a reply nor an event of this version. */
  | { readonly kind: 'unknown' };

/** @throws {NotJsonError} */
export function decodeRequest(text: string): RequestFrame {
  const frame = parse(text);
  const id = member(frame, 'id');
  const op = member(frame, 'op');
  const known = Number.isSafeInteger(id) && (id as number) >= 0 ? (id as number) : undefined;
  if (known === undefined) {
    return { kind: 'bad_request', id: 0, error: 'invalid', problem: 'id: expected an integer ≥ 0' };
  }
  if (!isRequestOp(op)) {
    return typeof op === 'string'
      ? { kind: 'bad_request', id: known, error: 'not_supported', problem: 'op: not one of this daemon' }
      : { kind: 'bad_request', id: known, error: 'invalid', problem: 'op: expected a string' };
  }
  try {
    return { kind: 'request', id: known, op, body: readShape(REQUESTS[op].body, frame) } as RequestFrame;
  } catch (error) {
    return { kind: 'bad_request', id: known, error: 'invalid', problem: (error as ShapeError).message };
  }
}

/** @throws {NotJsonError} */
export function decodeDaemonFrame(text: string): DaemonFrame {
  const frame = parse(text);
  const stream = member(frame, 'stream');
  if (stream !== undefined && stream !== null) return decodeEvent(stream, frame);
  const id = member(frame, 'id');
  if (!Number.isSafeInteger(id)) return { kind: 'unknown' };
  const ok = member(frame, 'ok');
  if (ok === true) return { kind: 'reply', id: id as number, ok, result: member(frame, 'result') ?? {} };
  try {
    if (ok !== false) throw new ShapeError('ok', 'true or false');
    return { kind: 'reply', id: id as number, ok, refusal: readShape(REFUSAL, frame) };
  } catch (error) {
    return { kind: 'bad_reply', id: id as number, problem: error as ShapeError };
  }
}

/** @throws {ShapeError} a result that is not what the table promises for `op` */
export function decodeResult<Op extends RequestOp>(op: Op, result: unknown): ResultOf<Op> {
  const read = readShape(REQUESTS[op].result, result) as ResultOf<Op>;
  if (op === 'exec') checkExit(read as ResultOf<'exec'>);
  return read;
}

export function encodeRequest<Op extends RequestOp>(id: number, op: Op, body: RequestBody<Op>): string {
  return JSON.stringify({ id, op, ...writeShape(REQUESTS[op].body, body as never) });
}

export function encodeResult<Op extends RequestOp>(id: number, op: Op, result: ResultOf<Op>): string {
  return JSON.stringify({ id, ok: true, result: writeShape(REQUESTS[op].result, result as never) });
}

export function encodeRefusal(id: number, refusal: RefusalBody): string {
  return JSON.stringify({ id, ok: false, ...writeShape(REFUSAL, refusal) });
}

export function encodeEvent<Name extends EventName>(event: Name, body: EventBody<Name>): string {
  if (event === 'stdout' || event === 'stderr') return encodeOutput(event, body as EventBody<'stdout'>);
  return JSON.stringify({ stream: event, ...writeShape(EVENTS[event], body as never) });
}

/** The same as the general way, without a pass over the data in search of characters to escape: base64 has none. */
function encodeOutput(event: 'stdout' | 'stderr', { sessionId, data, offset, replayFor }: EventBody<'stdout'>): string {
  const at = offset === undefined ? '' : `,"offset":${offset}`;
  const tag = replayFor === undefined ? '' : `,"replay_for":${replayFor}`;
  return `{"stream":"${event}","session_id":${JSON.stringify(sessionId)},"data":"${toBase64(data)}"${at}${tag}}`;
}

function decodeEvent(stream: unknown, frame: Record<string, unknown>): DaemonFrame {
  const sessionId = member(frame, 'session_id');
  if (typeof stream !== 'string' || !Object.hasOwn(EVENTS, stream) || typeof sessionId !== 'string') {
    return { kind: 'unknown' };
  }
  const event = stream as EventName;
  try {
    const body = readShape(EVENTS[event], frame);
    if (event === 'exit') checkExit(body as EventBody<'exit'>);
    return { kind: 'event', event, body } as DaemonFrame;
  } catch (error) {
    const replayFor = member(frame, 'replay_for');
    return {
      kind: 'bad_event',
      sessionId,
      ...(Number.isSafeInteger(replayFor) && { replayFor: replayFor as number }),
      problem: error as ShapeError,
    };
  }
}

/** Two accounts of one death must agree, or nobody knows which was measured. */
function checkExit({ code, signal }: { readonly code: number; readonly signal?: string }): void {
  if (signal !== undefined && code <= SIGNAL_BASE) throw new ShapeError('code', 'more than 128 beside a signal');
}

function parse(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new NotJsonError('a frame is not JSON');
  }
  if (!isObject(value)) throw new NotJsonError('a frame is not a JSON object');
  return value;
}

function member(frame: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(frame, name) ? frame[name] : undefined;
}
