import { describe, expect, test } from '@jest/globals';
import { EnvelopeReader, envelope, type ConnectMessage } from './connect-envelope.js';

const START = Buffer.from('000000001d7b226576656e74223a7b227374617274223a7b22706964223a377d7d7d', 'hex');
const LAST = Buffer.from('02000000027b7d', 'hex');

function read(...pieces: Uint8Array[]): ConnectMessage[] {
  const messages: ConnectMessage[] = [];
  const reader = new EnvelopeReader((message) => messages.push(message));
  for (const piece of pieces) reader.push(piece);
  return messages;
}

const BOTH: ConnectMessage[] = [
  { isLast: false, message: { event: { start: { pid: 7 } } } },
  { isLast: true, message: {} },
];

describe('envelopes', () => {
  test('of a request hold one message, its length before it', () => {
    expect(Buffer.from(envelope({ event: { start: { pid: 7 } } }))).toEqual(START);
  });

  test('are read one by one, and several out of one piece', () => {
    expect(read(START, LAST)).toEqual(BOTH);
    expect(read(Buffer.concat([START, LAST]))).toEqual(BOTH);
  });

  test('are read byte by byte', () => {
    expect(read(...[...START, ...LAST].map((byte) => Uint8Array.of(byte)))).toEqual(BOTH);
  });

  test('are read wherever they are cut, characters of several bytes included', () => {
    const message = { text: 'naïve 漢字 🙂'.repeat(3) };
    const bytes = Buffer.concat([envelope(message), envelope(message)]);
    const expected = [message, message].map((one) => ({ isLast: false, message: one }));
    for (let at = 0; at <= bytes.byteLength; at += 1) {
      expect(read(bytes.subarray(0, at), bytes.subarray(at))).toEqual(expected);
    }
  });

  test('that come in pieces keep their bytes, and nothing of the pieces', () => {
    const messages: ConnectMessage[] = [];
    const reader = new EnvelopeReader((message) => messages.push(message));
    const message = { text: 'x'.repeat(70_000) };
    const piece = new Uint8Array(1);
    for (const byte of Buffer.concat([START, envelope(message), LAST])) {
      piece[0] = byte;
      reader.push(piece);
    }
    expect(messages).toEqual([BOTH[0], { isLast: false, message }, BOTH[1]]);
  });

  test('that did not come whole give nothing', () => {
    expect(read(START.subarray(0, -1))).toEqual([]);
    expect(read(Buffer.of(0, 0))).toEqual([]);
  });

  test.each([
    ['compressed', Buffer.from('01000000027b7d', 'hex')],
    ['not JSON', Buffer.from('00000000023a3a', 'hex')],
    ['not an object', Buffer.from('00000000025b5d', 'hex')],
    ['too long', Buffer.from('0001000001', 'hex')],
  ])('with a message that is %s are refused', (_, data) => {
    expect(() => read(data)).toThrow(expect.objectContaining({ code: 'provider', detail: 'malformed_frame' }));
  });
});
