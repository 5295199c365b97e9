import { Refusal } from '../kit/answer.js';
import type { Exchange } from '../kit/exchange.js';
import { refusal } from './refusals.js';
import type { E2bSettings } from './options.js';

export type ConnectCode =
  | 'unknown'
  | 'invalid_argument'
  | 'deadline_exceeded'
  | 'not_found'
  | 'already_exists'
  | 'failed_precondition'
  | 'unimplemented'
  | 'internal'
  | 'unauthenticated';

const STATUS: Readonly<Record<ConnectCode, number>> = {
  unknown: 500,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  failed_precondition: 400,
  unimplemented: 501,
  internal: 500,
  unauthenticated: 401,
};

/** How an error looks on the wire, in a unary answer and in the last message of a stream. */
export interface ConnectError {
  readonly code: ConnectCode;
  readonly message: string;
}

/** Thrown by a call. */
export class ConnectFailure extends Error implements ConnectError {
  constructor(
    readonly code: ConnectCode,
    message: string,
  ) {
    super(message);
    this.name = 'ConnectFailure';
  }
}

export type Message = Readonly<Record<string, unknown>>;

/** The flag of a stream's last envelope. */
export const LAST = 2;
const HEAD_BYTES = 5;

export function envelope(flags: number, message: Message): Buffer {
  const payload = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(HEAD_BYTES);
  head[0] = flags;
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

/** Answers a unary call with what `act` makes of its message. */
export async function unary(exchange: Exchange, act: (message: Message) => Promise<Message>): Promise<void> {
  if (mediaType(exchange) !== 'application/json') throw unsupportedMedia();
  try {
    const message = messageOf(await exchange.body());
    await exchange.reply({ status: 200, json: await act(message) });
  } catch (error) {
    if (!(error instanceof ConnectFailure)) throw error;
    const { code, message } = error;
    await exchange.reply({ status: STATUS[code], json: { code, message } });
  }
}

/** The one message of a streaming call. @throws {Refusal} 415, {ConnectFailure} */
export async function streamRequest(exchange: Exchange): Promise<Message> {
  if (mediaType(exchange) !== 'application/connect+json') throw unsupportedMedia();
  const body = await exchange.body();
  if (body.length < HEAD_BYTES || body[0] !== 0 || body.readUInt32BE(1) !== body.length - HEAD_BYTES) {
    throw new ConnectFailure('invalid_argument', 'protocol error: incomplete envelope');
  }
  return messageOf(body.subarray(HEAD_BYTES));
}

/** As protobuf JSON has it: no zero values. A message that is there is written, however empty. */
export function written(message: Message, { alternatives }: E2bSettings): Message {
  if (alternatives.zeroValues === 'written') return message;
  const entries = Object.entries(message).filter(([name, value]) => !isZero(name, value));
  return Object.fromEntries(entries.map(([name, value]) => [name, nested(value, { alternatives } as E2bSettings)]));
}

/** Names of fields that are maps rather than messages. */
const MAPS: ReadonlySet<string> = new Set(['envs', 'metadata']);

function isZero(name: string, value: unknown): boolean {
  if (value === 0 || value === '' || value === false || value === undefined) return true;
  if (name === 'size' && value === '0') return true;
  if (Array.isArray(value)) return value.length === 0;
  return MAPS.has(name) && Object.keys(Object(value) as object).length === 0;
}

function nested(value: unknown, settings: E2bSettings): unknown {
  if (Array.isArray(value)) return value.map((item) => nested(item, settings));
  return typeof value === 'object' && value !== null ? written(value as Message, settings) : value;
}

function mediaType({ headers }: Exchange): string {
  return (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
}

function unsupportedMedia(): Refusal {
  return new Refusal({ status: 415, headers: { 'accept-post': 'application/json, application/connect+json' } });
}

function messageOf(bytes: Buffer): Message {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Message;
  } catch {
    // The same as another type.
  }
  throw new ConnectFailure('invalid_argument', 'unmarshal message: not a JSON object');
}

/** The answer of an envd that does not know the method. */
export function methodMissing(exchange: Exchange, { alternatives }: E2bSettings): Refusal | ConnectFailure {
  if (alternatives.missingMethod === 'not_found') return refusal(404, '404 page not found');
  return new ConnectFailure('unimplemented', `${exchange.call.path.slice(1)} is not implemented`);
}
