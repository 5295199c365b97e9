import { describe, expect, jest, test } from '@jest/globals';
import { SandboxError } from '#libs/contract/core';
import { loopback, ManualClock } from '#libs/testing';
import { encodeRequest } from './codec.js';
import { DaemonConnection, type DaemonRequest, type Handled } from './daemon-connection.js';
import type { ProtocolLimits } from './limits.js';
import { replayEvicted } from './refusal.js';

interface Call {
  readonly request: DaemonRequest;
  reply(handled: Handled): void;
  fail(error: unknown): void;
}

/** A connection whose requests are answered by hand, and what the platform's end receives. */
function setUp(limits: Partial<ProtocolLimits> = {}) {
  const [platform, socket] = loopback();
  const received: unknown[] = [];
  const log: string[] = [];
  const calls: Call[] = [];
  const clock = new ManualClock();
  platform.listen({
    text: (text) => received.push(JSON.parse(text)),
    binary: () => received.push('binary'),
    pong: () => received.push('pong'),
    closed: (code, reason) => received.push([code, reason]),
  });
  const handler = (request: DaemonRequest): Promise<Handled> =>
    new Promise((resolve, reject) => calls.push({ request, reply: resolve, fail: reject }));
  const connection = new DaemonConnection(socket, handler, { clock, limits, log: (line) => log.push(line) });
  socket.listen(connection);
  const request = (frame: unknown): void => platform.send(JSON.stringify(frame));
  return { platform, socket, connection, received, log, calls, clock, request };
}

async function turns(count = 10): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
}

describe('requests', () => {
  test('reach the handler typed, in the order of the frames, and replies go out as they complete', async () => {
    const { platform, calls, received } = setUp();
    platform.send(encodeRequest(1, 'stdin', { name: 'n', sessionId: 's', data: Buffer.from('a') }));
    platform.send(encodeRequest(2, 'list', {}));
    await turns();
    expect(calls.map(({ request }) => [request.id, request.op, request.body])).toEqual([
      [1, 'stdin', { name: 'n', sessionId: 's', data: Buffer.from('a') }],
      [2, 'list', {}],
    ]);
    calls[1]?.reply({ result: { names: ['n'] } });
    await turns();
    calls[0]?.reply({ result: {} });
    await turns();
    expect(received).toEqual([
      { id: 2, ok: true, result: { names: ['n'] } },
      { id: 1, ok: true, result: {} },
    ]);
  });

  test('what afterReply sends follows the reply with nothing between', async () => {
    const { platform, connection, calls, received } = setUp();
    platform.send(encodeRequest(7, 'attach', { name: 'n', sessionId: 's' }));
    await turns();
    calls[0]?.reply({
      result: { sessionId: 's' },
      afterReply: () =>
        connection.event('stdout', { sessionId: 's', data: Buffer.from('old'), offset: 0, replayFor: 7 }),
    });
    await Promise.resolve();
    queueMicrotask(() => connection.event('exit', { sessionId: 's', code: 0 }));
    await turns();
    expect(received).toEqual([
      { id: 7, ok: true, result: { session_id: 's' } },
      { stream: 'stdout', session_id: 's', data: 'b2xk', offset: 0, replay_for: 7 },
      { stream: 'exit', session_id: 's', code: 0 },
    ]);
  });

  test('an afterReply that throws is logged without its message, and the connection lives', async () => {
    const { request, calls, received, log } = setUp();
    request({ id: 1, op: 'list' });
    await turns();
    calls[0]?.reply({
      result: { names: [] },
      afterReply: () => {
        throw new TypeError('secret');
      },
    });
    request({ id: 2, op: 'list' });
    await turns();
    calls[1]?.reply({ result: { names: [] } });
    await turns();
    expect(received).toHaveLength(2);
    expect(log).toEqual(['after list failed: TypeError']);
  });

  test('with id 0 are executed and get neither reply nor refusal', async () => {
    const { request, connection, calls, received } = setUp();
    const afterReply = jest.fn<() => void>();
    request({ id: 0, op: 'detach', session_id: 's' });
    request({ id: 0, op: 'detach', session_id: 't' });
    request({ id: 0, op: 'nonsense' });
    await turns();
    calls[0]?.reply({ result: {}, afterReply });
    calls[1]?.fail(new SandboxError('not_found'));
    await turns();
    expect(calls[0]?.request.body).toEqual({ sessionId: 's' });
    expect(received).toEqual([]);
    expect(afterReply).toHaveBeenCalledTimes(1);
    expect(connection.stats()).toEqual({ inFlight: 0, requests: 3, malformed: 1, queuedBytes: 0, waiting: 0 });
  });

  test('beyond the cap are refused with no effect, and a reply makes room', async () => {
    const { request, connection, calls, received } = setUp({ inFlight: 2 });
    for (const id of [1, 2, 3]) request({ id, op: 'list' });
    await turns();
    expect(received).toEqual([{ id: 3, ok: false, error: 'unavailable', detail: 'in_flight_limit', effect: 'none' }]);
    expect(connection.stats().inFlight).toBe(2);
    calls[0]?.reply({ result: { names: [] } });
    await turns();
    request({ id: 4, op: 'list' });
    await turns();
    expect(calls.map((call) => call.request.id)).toEqual([1, 2, 4]);
  });

  test('of a platform that takes no replies end the connection, before their replies fill the memory', async () => {
    const { platform, request, connection, calls, log } = setUp({ inFlight: 2 });
    platform.pause();
    for (let id = 1; id <= 8; id++) {
      request({ id, op: 'nonsense' });
      await turns(2);
    }
    request({ id: 0, op: 'list' });
    await turns();
    expect([calls.length, connection.signal.aborted]).toEqual([0, true]);
    expect(log).toEqual(['the platform takes no replies: dropping the connection']);
  });

  test('go on when what waited for a platform is taken', async () => {
    const { platform, request, connection, received } = setUp({ inFlight: 2 });
    for (let round = 0; round < 3; round++) {
      platform.pause();
      for (let id = 1; id <= 7; id++) request({ id, op: 'nonsense' });
      await turns(20);
      platform.resume();
      await turns(20);
    }
    expect([received.length, connection.signal.aborted]).toEqual([21, false]);
  });

  test.each([
    ['an unknown op', { id: 5, op: 'format_disk' }, 5, 'not_supported', 'op: not one of this daemon'],
    ['no op', { id: 5 }, 5, 'invalid', 'op: expected a string'],
    ['an op that is no string', { id: 5, op: ['list'] }, 5, 'invalid', 'op: expected a string'],
    ['an op of Object.prototype', { id: 5, op: 'constructor' }, 5, 'not_supported', 'op: not one of this daemon'],
    ['a missing member', { id: 5, op: 'get' }, 5, 'invalid', 'name: expected a well-formed string'],
    ['a member of another type', { id: 5, op: 'get', name: 1 }, 5, 'invalid', 'name: expected a well-formed string'],
    [
      'bad base64',
      { id: 5, op: 'stdin', name: 'n', session_id: 's', data: 'secret!!' },
      5,
      'invalid',
      'data: expected base64',
    ],
  ])('with %s are refused and never handled', async (_title, frame, id, error, detail) => {
    const { request, calls, received } = setUp();
    request(frame);
    await turns();
    expect(received).toEqual([{ id, ok: false, error, detail, effect: 'none' }]);
    expect(calls).toEqual([]);
  });

  test.each([{ id: 'x', op: 'list' }, { id: -1, op: 'list' }, { id: 1.5, op: 'list' }, { id: 1e308, op: 'list' }, {}])(
    'without a usable id (%j) are dropped and counted',
    async (frame) => {
      const { request, connection, calls, received } = setUp();
      request(frame);
      await turns();
      expect([received, calls, connection.stats().malformed]).toEqual([[], [], 1]);
    },
  );
});

describe('refusals', () => {
  test.each([
    ['a word of the protocol', new SandboxError('not_found'), { error: 'not_found', effect: 'none' }],
    [
      'its detail and effect',
      new SandboxError('unavailable', { detail: 'timeout', effect: 'done' }),
      { error: 'unavailable', detail: 'timeout', effect: 'done' },
    ],
    [
      'the message of an invalid without detail',
      new SandboxError('invalid', { message: 'name: too long' }),
      { error: 'invalid', detail: 'name: too long', effect: 'none' },
    ],
    ['any other code by its name', new SandboxError('already_exists'), { error: 'already_exists', effect: 'none' }],
    [
      'from where a replay is possible',
      replayEvicted({ stdout: 10, stderr: 20 }),
      { error: 'truncated', detail: 'replay_evicted', effect: 'none', oldest: { stdout: 10, stderr: 20 } },
    ],
    [
      'nothing of a defect',
      Object.assign(new Error('secret'), { code: 'SECRET' }),
      { error: 'provider', detail: 'remote', effect: 'unknown' },
    ],
    ['nothing of what is no error', 'secret', { error: 'provider', detail: 'remote', effect: 'unknown' }],
  ])('carry %s', async (_title, error, refusal) => {
    const { request, calls, received, log } = setUp();
    request({ id: 9, op: 'list' });
    await turns();
    calls[0]?.fail(error);
    await turns();
    expect(received).toEqual([{ id: 9, ok: false, ...refusal }]);
    expect(log.join('')).not.toContain('secret');
  });

  test('a handler that throws at once is a refusal too', async () => {
    const [platform, socket] = loopback();
    const handler = (): Promise<Handled> => {
      throw new SandboxError('denied');
    };
    socket.listen(new DaemonConnection(socket, handler, { clock: new ManualClock() }));
    platform.send('{"id":1,"op":"list"}');
    await turns();
    expect(socket.sent).toEqual(['{"id":1,"ok":false,"error":"denied","effect":"none"}']);
  });

  test.each([
    ['exec', { name: 'n', cmd: 'c', args: [] }, { output: Buffer.alloc(300), code: 0 }, 'done'],
    ['list', {}, { names: ['é'.repeat(150)] }, 'none'],
  ])('a result of %s beyond the frame cap fails that request alone', async (op, body, result, effect) => {
    const { request, calls, received } = setUp({ maxFrameBytes: 256 });
    const afterReply = jest.fn<() => void>();
    request({ id: 1, op, ...body });
    request({ id: 2, op: 'list' });
    await turns();
    calls[0]?.reply({ result, afterReply });
    calls[1]?.reply({ result: { names: [] } });
    await turns();
    expect(received).toEqual([
      { id: 1, ok: false, error: 'truncated', detail: 'output_limit', effect },
      { id: 2, ok: true, result: { names: [] } },
    ]);
    expect(afterReply).toHaveBeenCalledTimes(0);
  });

  test('a result of exactly the frame cap is sent', async () => {
    const { request, calls, received } = setUp({ maxFrameBytes: 40 + 50 });
    request({ id: 1, op: 'list' });
    await turns();
    calls[0]?.reply({ result: { names: ['x'.repeat(90 - '{"id":1,"ok":true,"result":{"names":[""]}}'.length)] } });
    await turns();
    expect(JSON.stringify(received[0])).toHaveLength(90);
  });
});

describe('back-pressure', () => {
  test('writers wait for the queue to fall below its limit and go in turn', async () => {
    const { platform, connection } = setUp({ socketQueueBytes: 150 });
    const order: string[] = [];
    platform.pause();
    const write = (name: string) => (): void => {
      order.push(name);
      connection.event('stdout', { sessionId: 's', data: Buffer.alloc(90), offset: 0 });
    };
    write('first')();
    expect(connection.writable()).toBe(false);
    connection.whenWritable(write('a'));
    connection.whenWritable(write('b'));
    await turns();
    expect(order).toEqual(['first']);
    expect(connection.stats().waiting).toBe(2);
    platform.resume();
    await turns(1);
    expect(order).toEqual(['first', 'a']);
    await turns();
    expect(order).toEqual(['first', 'a', 'b']);
    expect(connection.writable()).toBe(true);
  });

  test('whenWritable never calls from within itself', async () => {
    const { connection } = setUp();
    const fn = jest.fn<() => void>();
    connection.whenWritable(fn);
    expect(fn).toHaveBeenCalledTimes(0);
    await turns(1);
    expect(fn).toHaveBeenCalledTimes(1);
  });

  test('replies pass a full queue, and count in it', async () => {
    const { platform, connection, socket, request, calls } = setUp({ socketQueueBytes: 10 });
    request({ id: 1, op: 'list' });
    await turns();
    platform.pause();
    connection.event('exit', { sessionId: 's', code: 0 });
    const before = connection.stats().queuedBytes;
    calls[0]?.reply({ result: { names: [] } });
    await turns();
    expect(connection.stats().queuedBytes - before).toBe(socket.sent[1]?.length);
  });
});

describe('the end', () => {
  test.each([
    ['text that is not JSON', 'not json', 'a frame is not a JSON object'],
    ['an empty frame', '', 'a frame is not a JSON object'],
    ['null', 'null', 'a frame is not a JSON object'],
    ['an array', '[]', 'a frame is not a JSON object'],
    ['a binary frame', Buffer.from([0]), 'a frame is binary'],
  ])('%s closes 1003, and what follows is dropped', async (_title, frame, reason) => {
    const { platform, connection, calls, received } = setUp();
    if (typeof frame === 'string') platform.send(frame);
    else platform.sendBinary(frame);
    platform.send('{"id":1,"op":"list"}');
    await turns();
    expect(await connection.ended).toEqual({ code: 1003, reason });
    expect(received).toEqual([[1003, reason]]);
    expect(calls).toEqual([]);
  });

  test('aborts the signal, drops late results and never calls their afterReply', async () => {
    const { platform, connection, socket, request, calls, clock } = setUp();
    const late = jest.fn<() => void>();
    request({ id: 1, op: 'list' });
    request({ id: 2, op: 'list' });
    await turns();
    connection.whenWritable(late);
    expect(connection.signal.aborted).toBe(false);
    platform.cut();
    await turns();
    expect(await connection.ended).toEqual({ code: 1006, reason: '' });
    expect(connection.signal.aborted).toBe(true);
    const sent = socket.sent.length;
    const afterReply = jest.fn<() => void>();
    calls[0]?.reply({ result: { names: [] }, afterReply });
    calls[1]?.fail(new Error('late'));
    connection.event('exit', { sessionId: 's', code: 0 });
    connection.whenWritable(afterReply);
    await turns();
    expect(afterReply).toHaveBeenCalledTimes(0);
    expect(socket.sent).toHaveLength(sent);
    expect(connection.writable()).toBe(false);
    expect(connection.stats()).toMatchObject({ inFlight: 0, waiting: 0 });
    expect(clock.pending).toBe(0);
  });

  test('close goes behind what was sent, twice does no harm', async () => {
    const { connection, received } = setUp();
    connection.event('exit', { sessionId: 's', code: 3 });
    connection.close(1001, 'stopping');
    connection.close(1000, 'again');
    connection.event('exit', { sessionId: 's', code: 4 });
    await turns();
    expect(received).toEqual([{ stream: 'exit', session_id: 's', code: 3 }, [1001, 'stopping']]);
    connection.close();
    connection.closed(1006, 'again');
    expect(await connection.ended).toEqual({ code: 1001, reason: 'stopping' });
  });

  test('a platform that falls silent is dropped after 45 s, also while closing', async () => {
    const { platform, connection, clock, log } = setUp();
    await clock.pass(60_000);
    expect(connection.signal.aborted).toBe(false);
    platform.stall();
    connection.close();
    await clock.pass(50_000);
    expect(await connection.ended).toEqual({ code: 1006, reason: '' });
    expect(log).toEqual(['nothing was received for 45000 ms: dropping the connection']);
  });

  test('a probe is answered by a live platform and not by a stalled one', async () => {
    const { platform, connection, clock } = setUp();
    expect(await connection.probe()).toBe(true);
    platform.stall();
    const answer = connection.probe(5_000);
    await clock.pass(5_000);
    expect(await answer).toBe(false);
  });
});
