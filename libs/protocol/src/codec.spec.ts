import { describe, expect, test } from '@jest/globals';
import {
  NotJsonError,
  decodeDaemonFrame,
  decodeRequest,
  decodeResult,
  encodeEvent,
  encodeRequest,
  type DaemonFrame,
} from './codec.js';
import { REQUESTS, type RequestOp } from './table.js';

const notFrames: readonly (readonly [string, string])[] = [
  ['text', 'not json'],
  ['nothing', ''],
  ['white space', ' \n'],
  ['null', 'null'],
  ['an array', '[]'],
  ['a string', '"x"'],
  ['a number', '1'],
  ['two objects', '{}{}'],
  ['half an object', '{"id":1,'],
  ['200 000 nested arrays', '['.repeat(200_000) + ']'.repeat(200_000)],
  ['200 000 arrays that never close', '['.repeat(200_000)],
  ['a byte order mark', '\ufeff{}'],
  ['NaN', '{"id":NaN}'],
];

const deep = '['.repeat(200_000) + ']'.repeat(200_000);

/** Titled by the beginning of each frame. */
function titled(frames: readonly (readonly [frame: string, decoded: object])[]): [string, string, object][] {
  return frames.map(([frame, decoded]) => [frame.slice(0, 100), frame, decoded]);
}

describe('what is no JSON object', () => {
  test.each(notFrames)('%s is refused by both decoders, and not quoted', (_title, frame) => {
    expect(() => decodeRequest(frame)).toThrow(NotJsonError);
    expect(() => decodeDaemonFrame(frame)).toThrow(NotJsonError);
    expect(() => decodeDaemonFrame(frame)).toThrow(/^a frame is not (JSON|a JSON object)$/);
  });
});

describe('hostile frames of a daemon', () => {
  const bad = (kind: DaemonFrame['kind'], rest: object = {}): object => ({ kind, ...rest });
  const problem = (message: string): object => ({ problem: expect.objectContaining({ message }) });

  test.each(
    titled([
      ['{}', bad('unknown')],
      ['{"id":{}}', bad('unknown')],
      ['{"id":"7","ok":true}', bad('unknown')],
      ['{"id":1.5,"ok":true}', bad('unknown')],
      ['{"id":1e308,"ok":true}', bad('unknown')],
      ['{"id":1e999,"ok":true}', bad('unknown')],
      ['{"id":9007199254740993,"ok":true}', bad('unknown')],
      ['{"id":null,"ok":true}', bad('unknown')],
      ['{"ok":true,"result":{}}', bad('unknown')],
      ['{"__proto__":{"id":7,"ok":true}}', bad('unknown')],
      ['{"stream":[]}', bad('unknown')],
      ['{"stream":{}}', bad('unknown')],
      ['{"stream":"stdout"}', bad('unknown')],
      ['{"stream":"stdout","session_id":7,"data":""}', bad('unknown')],
      ['{"stream":"toString","session_id":"s"}', bad('unknown')],
      ['{"stream":"__proto__","session_id":"s"}', bad('unknown')],
      ['{"stream":"stdin","session_id":"s","data":""}', bad('unknown')],
      ['{"id":-3,"ok":true}', bad('reply', { id: -3, ok: true, result: {} })],
      ['{"id":7,"ok":true,"result":null,"stream":null}', bad('reply', { id: 7, ok: true, result: {} })],
      ['{"id":7}', bad('bad_reply', { id: 7, ...problem('ok: expected true or false') })],
      ['{"id":7,"ok":"true"}', bad('bad_reply', { id: 7, ...problem('ok: expected true or false') })],
      ['{"id":7,"ok":1}', bad('bad_reply', { id: 7, ...problem('ok: expected true or false') })],
      ['{"id":7,"ok":false}', bad('bad_reply', { id: 7, ...problem('error: expected a well-formed string') })],
      [
        '{"id":7,"ok":false,"error":{}}',
        bad('bad_reply', { id: 7, ...problem('error: expected a well-formed string') }),
      ],
      [
        '{"id":7,"ok":false,"error":"truncated","oldest":{"stdout":"1","stderr":2}}',
        bad('bad_reply', { id: 7, ...problem('oldest: expected an object of stdout and stderr offsets') }),
      ],
      [
        '{"stream":"exit","session_id":"s"}',
        bad('bad_event', { sessionId: 's', ...problem('code: expected an integer of 0 to 4294967295') }),
      ],
      [
        '{"stream":"exit","session_id":"s","code":null,"replay_for":7}',
        bad('bad_event', { sessionId: 's', replayFor: 7, ...problem('code: expected an integer of 0 to 4294967295') }),
      ],
      [
        '{"stream":"exit","session_id":"s","code":"0"}',
        bad('bad_event', { sessionId: 's', ...problem('code: expected an integer of 0 to 4294967295') }),
      ],
      [
        '{"stream":"exit","session_id":"s","code":0.5}',
        bad('bad_event', { sessionId: 's', ...problem('code: expected an integer of 0 to 4294967295') }),
      ],
      [
        '{"stream":"exit","session_id":"s","code":true}',
        bad('bad_event', { sessionId: 's', ...problem('code: expected an integer of 0 to 4294967295') }),
      ],
      [
        '{"stream":"exit","session_id":"s","__proto__":{"code":0}}',
        bad('bad_event', { sessionId: 's', ...problem('code: expected an integer of 0 to 4294967295') }),
      ],
      [
        '{"stream":"exit","session_id":"s","code":0,"stopped_by":"boredom"}',
        bad('bad_event', { sessionId: 's', ...problem('stopped_by: expected one of timeout, output_limit') }),
      ],
      [
        '{"stream":"stdout","session_id":"s"}',
        bad('bad_event', { sessionId: 's', ...problem('data: expected base64') }),
      ],
      [
        '{"stream":"stdout","session_id":"s","data":"aGk"}',
        bad('bad_event', { sessionId: 's', ...problem('data: expected base64') }),
      ],
      [
        '{"stream":"stderr","session_id":"s","data":[104,105]}',
        bad('bad_event', { sessionId: 's', ...problem('data: expected base64') }),
      ],
      [
        '{"stream":"stdout","session_id":"s","data":"","offset":-1}',
        bad('bad_event', { sessionId: 's', ...problem('offset: expected an integer ≥ 0') }),
      ],
      [
        '{"stream":"stdout","session_id":"s","data":"","replay_for":"7"}',
        bad('bad_event', { sessionId: 's', ...problem('replay_for: expected an integer') }),
      ],
      [
        '{"stream":"stdout","session_id":"\\ud800","data":""}',
        bad('bad_event', {
          sessionId: '\ud800',
          ...problem('session_id: expected a session id of 1 to 256 characters'),
        }),
      ],
      [
        `{"stream":"stdout","session_id":"s","data":${deep}}`,
        bad('bad_event', { sessionId: 's', ...problem('data: expected base64') }),
      ],
    ]),
  )('%s', (_title, frame, decoded) => {
    expect(decodeDaemonFrame(frame)).toEqual(decoded);
  });
});

describe('hostile requests', () => {
  const refused = (id: number, error: string, text: string): object => ({
    kind: 'bad_request',
    id,
    error,
    problem: text,
  });
  const anId = 'id: expected an integer ≥ 0';

  test.each(
    titled([
      ['{}', refused(0, 'invalid', anId)],
      ['{"id":{},"op":"list"}', refused(0, 'invalid', anId)],
      ['{"id":"1","op":"list"}', refused(0, 'invalid', anId)],
      ['{"id":-1,"op":"list"}', refused(0, 'invalid', anId)],
      ['{"id":1e308,"op":"list"}', refused(0, 'invalid', anId)],
      ['{"id":0.1,"op":"list"}', refused(0, 'invalid', anId)],
      ['{"__proto__":{"id":1,"op":"list"}}', refused(0, 'invalid', anId)],
      ['{"id":1}', refused(1, 'invalid', 'op: expected a string')],
      ['{"id":1,"op":["list"]}', refused(1, 'invalid', 'op: expected a string')],
      ['{"id":1,"op":"hasOwnProperty"}', refused(1, 'not_supported', 'op: not one of this daemon')],
      ['{"id":1,"op":"__proto__"}', refused(1, 'not_supported', 'op: not one of this daemon')],
      ['{"id":1,"op":"get"}', refused(1, 'invalid', 'name: expected a well-formed string')],
      ['{"id":1,"op":"get","name":"\\ud800"}', refused(1, 'invalid', 'name: expected a well-formed string')],
      [
        '{"id":1,"op":"exec","name":"n","cmd":"c","args":["\\udc00"]}',
        refused(1, 'invalid', 'args: expected an array of well-formed strings'),
      ],
      [
        '{"id":1,"op":"exec","name":"n","cmd":"c"}',
        refused(1, 'invalid', 'args: expected an array of well-formed strings'),
      ],
      [
        '{"id":1,"op":"exec","name":"n","cmd":"c","args":[],"env":{"A":"b"}}',
        refused(1, 'invalid', 'env: expected an array of [name, value] pairs'),
      ],
      [
        '{"id":1,"op":"exec","name":"n","cmd":"c","args":[],"timeout_ms":1.5}',
        refused(1, 'invalid', 'timeout_ms: expected an integer ≥ 0'),
      ],
      [
        `{"id":1,"op":"exec","name":"n","cmd":"c","args":${deep}}`,
        refused(1, 'invalid', 'args: expected an array of well-formed strings'),
      ],
      ['{"id":1,"op":"write_file","name":"n","path":"p","data":"YQ"}', refused(1, 'invalid', 'data: expected base64')],
      [
        '{"id":1,"op":"attach","name":"n","session_id":"s","from":{"stdout":0}}',
        refused(1, 'invalid', 'from: expected an object of stdout and stderr offsets, or "now"'),
      ],
      [
        '{"id":1,"op":"attach","name":"n","session_id":""}',
        refused(1, 'invalid', 'session_id: expected a session id of 1 to 256 characters'),
      ],
      [
        '{"id":1,"op":"spawn","name":"n","cmd":"c","args":[],"tty":"yes"}',
        refused(1, 'invalid', 'tty: expected true or false'),
      ],
    ]),
  )('%s', (_title, frame, decoded) => {
    expect(decodeRequest(frame)).toEqual(decoded);
  });

  test('an environment variable named __proto__ is a variable', () => {
    const frame = decodeRequest('{"id":1,"op":"exec","name":"n","cmd":"c","args":[],"env":[["__proto__","x"]]}');
    expect(frame).toMatchObject({ kind: 'request', body: { env: [['__proto__', 'x']] } });
    expect({}).not.toHaveProperty('x');
  });
});

describe('results of the wrong shape', () => {
  const results: readonly (readonly [RequestOp, unknown, string])[] = [
    ['exec', {}, 'output: expected base64'],
    ['exec', { output: '' }, 'code: expected an integer of 0 to 4294967295'],
    ['exec', { output: '', code: '0' }, 'code: expected an integer of 0 to 4294967295'],
    ['exec', { output: '', code: 0.5 }, 'code: expected an integer of 0 to 4294967295'],
    ['exec', { output: 'hello', code: 0 }, 'output: expected base64'],
    ['exec', { output: '', code: 0, stderr: 1 }, 'stderr: expected base64'],
    ['spawn', {}, 'session_id: expected a session id of 1 to 256 characters'],
    ['spawn', { session_id: null }, 'session_id: expected a session id of 1 to 256 characters'],
    ['attach', { session_id: 's', from: 'now' }, 'from: expected an object of stdout and stderr offsets'],
    ['list', {}, 'names: expected an array of well-formed strings'],
    ['list', { names: 'a' }, 'names: expected an array of well-formed strings'],
    ['list', { names: [1] }, 'names: expected an array of well-formed strings'],
    ['list_sessions', { sessions: {} }, 'sessions: expected an array of objects'],
    ['list_sessions', { sessions: [{}] }, 'sessions: expected an array of objects'],
    ['list_sessions', { sessions: [{ id: 's' }, null] }, 'sessions: expected an array of objects'],
    ['get', { path: 1 }, 'path: expected a well-formed string'],
  ];

  test.each(results)('%s %j', (op, result, message) => {
    expect(() => decodeResult(op, result)).toThrow(message);
  });

  test.each(Object.keys(REQUESTS) as RequestOp[])('%s: no object', (op) => {
    for (const result of ['x', 1, true, [], [{}]]) {
      expect(() => decodeResult(op, result)).toThrow('frame: expected an object');
    }
  });
});

describe('round trips', () => {
  test.each(['"quoted" \\ é 😀 \u2028', ' ', '-', 'x'.repeat(256)])('an output event of session %j', (id) => {
    const body = { sessionId: id, data: Buffer.from([0, 255, 128]), offset: 2 ** 40, replayFor: 3 };
    expect(decodeDaemonFrame(encodeEvent('stderr', body))).toEqual({ kind: 'event', event: 'stderr', body });
  });

  test('64 KiB of every byte', () => {
    const data = Buffer.alloc(65_536).map((_, i) => i % 256);
    const frame = decodeDaemonFrame(encodeEvent('stdout', { sessionId: 's', data }));
    expect(frame).toEqual({ kind: 'event', event: 'stdout', body: { sessionId: 's', data } });
  });

  test('arguments with every awkward character', () => {
    const args = ['', '\0', '"', '\\', '\n', '\u2028', '😀', '$(x)', ' '];
    const frame = decodeRequest(encodeRequest(1, 'exec', { name: 'n', cmd: 'c', args }));
    expect(frame).toEqual({ kind: 'request', id: 1, op: 'exec', body: { name: 'n', cmd: 'c', args } });
  });
});
