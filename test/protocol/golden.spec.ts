import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import {
  EVENTS,
  REFUSAL,
  REQUESTS,
  SESSION,
  decodeDaemonFrame,
  decodeRequest,
  decodeResult,
  encodeEvent,
  encodeRefusal,
  encodeRequest,
  encodeResult,
  type EventName,
  type RequestOp,
} from '#libs/protocol';

/**
 * One frame and what it means, in JSON so that a daemon in any language can be tested against the same file. Bytes
 * are `{"hex": …}`. What is `decodeOnly` is read but not written like that: other makes of daemon, later versions.
 */
interface Golden {
  readonly title: string;
  readonly kind: 'request' | 'result' | 'refusal' | 'event';
  /** The op, or the event; a refusal has none. */
  readonly name?: string;
  readonly id?: number;
  readonly decodeOnly?: true;
  readonly frame: string;
  readonly value: Record<string, unknown>;
}

const golden = JSON.parse(
  readFileSync(new URL('golden-frames.json', import.meta.url), 'utf8'),
  // A member named like this one is bytes.
  (_key, value: unknown) =>
    typeof value === 'object' && value !== null && 'hex' in value ? Buffer.from(String(value.hex), 'hex') : value,
) as Golden[];

function decode({ kind, name, frame }: Golden): unknown {
  if (kind === 'request') return decodeRequest(frame);
  const decoded = decodeDaemonFrame(frame);
  if (kind !== 'result' || decoded.kind !== 'reply' || !decoded.ok) return decoded;
  return { ...decoded, result: decodeResult(name as RequestOp, decoded.result) };
}

function expected({ kind, name, id, value }: Golden): unknown {
  switch (kind) {
    case 'request':
      return { kind, id, op: name, body: value };
    case 'result':
      return { kind: 'reply', id, ok: true, result: value };
    case 'refusal':
      return { kind: 'reply', id, ok: false, refusal: value };
    default:
      return { kind: 'event', event: name, body: value };
  }
}

function encode({ kind, name, id, value }: Golden): string {
  switch (kind) {
    case 'request':
      return encodeRequest(id as number, name as RequestOp, value as never);
    case 'result':
      return encodeResult(id as number, name as RequestOp, value as never);
    case 'refusal':
      return encodeRefusal(id as number, value as never);
    default:
      return encodeEvent(name as EventName, value as never);
  }
}

const titled = golden.map((entry) => [`${entry.kind}: ${entry.title}`, entry] as const);
const written = golden.filter((entry) => !entry.decodeOnly);

describe('golden frames', () => {
  test.each(titled)('%s is read as it is meant', (_title, entry) => {
    expect(decode(entry)).toStrictEqual(expected(entry));
  });

  test.each(titled.filter(([, entry]) => !entry.decodeOnly))('%s is written exactly so', (_title, entry) => {
    expect(encode(entry)).toBe(entry.frame);
  });

  test('titles are unique', () => {
    expect(new Set(titled.map(([title]) => title)).size).toBe(titled.length);
  });
});

/** The members that the golden frames of one table entry use, written ones only. */
function used(kind: Golden['kind'], name?: string): string[] {
  const values = written.filter((entry) => entry.kind === kind && entry.name === name).map(({ value }) => value);
  return [...new Set(values.flatMap((value) => Object.keys(value)))].toSorted();
}

describe('every entry of the table has golden frames that use all of its members', () => {
  const ops = Object.keys(REQUESTS) as RequestOp[];

  test.each(ops)('request %s', (op) => {
    expect(written.filter(({ kind, name }) => kind === 'request' && name === op)).not.toHaveLength(0);
    expect(used('request', op)).toEqual(Object.keys(REQUESTS[op].body).toSorted());
  });

  test.each(ops)('result %s', (op) => {
    expect(written.filter(({ kind, name }) => kind === 'result' && name === op)).not.toHaveLength(0);
    expect(used('result', op)).toEqual(Object.keys(REQUESTS[op].result).toSorted());
  });

  test.each(Object.keys(EVENTS) as EventName[])('event %s', (event) => {
    expect(used('event', event)).toEqual(Object.keys(EVENTS[event]).toSorted());
  });

  test('refusal', () => {
    expect(used('refusal')).toEqual(Object.keys(REFUSAL).toSorted());
  });

  test('the sessions of list_sessions', () => {
    const lists = written.filter(({ kind, name }) => kind === 'result' && name === 'list_sessions');
    const sessions = lists.flatMap(({ value }) => value['sessions'] as object[]);
    expect([...new Set(sessions.flatMap((session) => Object.keys(session)))].toSorted()).toEqual(
      Object.keys(SESSION).toSorted(),
    );
  });

  test('nothing else', () => {
    const known = { request: REQUESTS, result: REQUESTS, event: EVENTS, refusal: { undefined: REFUSAL } };
    expect(golden.filter(({ kind, name }) => !Object.hasOwn(known[kind], String(name)))).toEqual([]);
  });
});
