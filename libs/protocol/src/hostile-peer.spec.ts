import { describe, expect, test } from '@jest/globals';
import { connectPeer, recordingSink, turns, type ScriptedPeer } from '#libs/testing';

const NAME = 'runner-x';
const SPAWN = { name: NAME, cmd: 'cat', args: [] };

async function withSession() {
  const setup = connectPeer({ instance: 'i-1' });
  const sink = recordingSink();
  const opening = setup.connection.open('spawn', SPAWN, sink);
  const tag = setup.peer.last.id;
  setup.peer.ok(setup.peer.last, { session_id: 's-1' });
  const session = await opening;
  const call = setup.connection.request('get', { name: NAME });
  call.catch(() => {});
  return { ...setup, sink, tag, session, call, callId: setup.peer.last.id };
}

describe('a hostile peer', () => {
  test.each<[string, string, number]>([
    ['a reply to an id never used', '{"id":99,"ok":true,"result":{}}', 1],
    ['a negative id', '{"id":-1,"ok":true}', 1],
    ['a huge id', '{"id":1e308,"ok":true}', 1],
    ['an infinite id', '{"id":1e999,"ok":true}', 1],
    ['an id as a string', '{"id":"2","ok":true}', 1],
    ['an id as an object', '{"id":{},"ok":true}', 1],
    ['no id', '{"ok":true,"result":{}}', 1],
    ['an empty object', '{}', 1],
    ['a stream as an array', '{"stream":[]}', 1],
    ['a stream by the name of a method', '{"stream":"toString","session_id":"s-1"}', 1],
    ['an unknown stream', '{"stream":"stdin","session_id":"s-1","data":""}', 1],
    ['a session id as a number', '{"stream":"stdout","session_id":1,"data":""}', 1],
    ['output of a session never opened', '{"stream":"stdout","session_id":"s-9","data":"eA=="}', 1],
    ['an exit of a session never opened', '{"stream":"exit","session_id":"s-9","code":0}', 1],
    ['a bad frame of a session never opened', '{"stream":"stdout","session_id":"s-9","data":7}', 1],
    [
      'a replay for a request never made',
      '{"stream":"stdout","session_id":"s-1","data":"eA==","offset":0,"replay_for":99}',
      1,
    ],
    [
      'a replay for another request',
      '{"stream":"stdout","session_id":"s-1","data":"eA==","offset":0,"replay_for":2}',
      0,
    ],
    ['an exit for another request', '{"stream":"exit","session_id":"s-1","code":0,"replay_for":2}', 0],
    ['a reply to id 0', '{"id":0,"ok":true,"result":{}}', 0],
    ['a refusal of id 0', '{"id":0,"ok":false,"error":"invalid"}', 0],
    ['a second reply', '{"id":1,"ok":true,"result":{"session_id":"s-7"}}', 0],
    ['a second reply with a key of the prototype', '{"id":1,"ok":true,"result":{"__proto__":{"x":1}}}', 0],
  ])('%s reaches nobody', async (_case, text, unknown) => {
    const { peer, connection, sink, call, callId } = await withSession();
    peer.text(text);
    expect(connection.stats()).toMatchObject({ unknown, pending: 1, sessions: 1 });
    peer.out('stdout', 's-1', 'ok', { offset: 0 });
    peer.say({ id: callId, ok: true, result: {} });
    expect(await call).toEqual({});
    expect(sink.seen).toEqual([['stdout', 0, 'ok']]);
    expect(peer.events).toEqual([]);
  });

  test.each([
    ['text that is not JSON', 'not json'],
    ['empty text', ''],
    ['null', 'null'],
    ['an array', '[]'],
    ['a string', '"x"'],
    ['a number', '1'],
    ['deep nesting', '['.repeat(200_000)],
    ['a cut frame', '{"id":1,'],
  ])('%s closes with 1003', async (_case, text) => {
    const { peer, connection, sink, call, log } = await withSession();
    peer.text(text);
    expect(peer.events).toEqual(['close 1003 a frame is not a JSON object']);
    await expect(call).rejects.toMatchObject({ detail: 'runner_disconnected', effect: 'none' });
    expect(sink.seen).toEqual([['unavailable', 'runner_disconnected']]);
    peer.out('stdout', 's-1', 'late', { offset: 0 });
    peer.text('still not json');
    peer.hangUp(1003);
    expect(sink.seen).toHaveLength(1);
    expect(log).toEqual(['closing with 1003: a frame is not a JSON object']);
    expect(Object.values(connection.stats()).every((count) => count === 0)).toBe(true);
  });

  test('a binary frame closes with 1003', async () => {
    const { peer, connection } = await withSession();
    connection.binary();
    expect(peer.events).toEqual(['close 1003 a frame is binary']);
    peer.hangUp();
  });

  test.each<[string, object]>([
    ['bad base64', { stream: 'stdout', data: '***', offset: 0 }],
    ['unpadded base64', { stream: 'stdout', data: 'eA', offset: 0 }],
    ['no data', { stream: 'stdout', offset: 0 }],
    ['no offset', { stream: 'stdout', data: 'eA==' }],
    ['a negative offset', { stream: 'stdout', data: 'eA==', offset: -1 }],
    ['an offset as a string', { stream: 'stdout', data: 'eA==', offset: '0' }],
    ['an exit without code', { stream: 'exit' }],
    ['an exit with null', { stream: 'exit', code: null }],
    ['an exit with a fraction', { stream: 'exit', code: 0.5 }],
    ['an exit with a string', { stream: 'exit', code: '0' }],
    ['a stop for no known reason', { stream: 'exit', code: 0, stopped_by: 'boredom' }],
    ['a replay for a string', { stream: 'stdout', data: 'eA==', offset: 0, replay_for: '1' }],
  ])('%s ends the session with an error, and only that session', async (_case, frame) => {
    const { peer, connection, sink, session } = await withSession();
    const other = recordingSink();
    const opening = connection.open('spawn', SPAWN, other);
    peer.ok(peer.last, { session_id: 's-2' });
    await opening;
    peer.say({ session_id: 's-1', ...frame });
    expect(sink.seen).toEqual([['provider', 'malformed_frame']]);
    expect(peer.last).toMatchObject({ op: 'detach', session_id: 's-1' });
    peer.exit('s-1', 0);
    peer.out('stdout', 's-2', 'y', { offset: 0 });
    expect(sink.seen).toHaveLength(1);
    expect(other.seen).toEqual([['stdout', 0, 'y']]);
    await expect(session.write(new Uint8Array(1))).rejects.toMatchObject({ detail: 'malformed_frame', effect: 'none' });
  });

  test('a malformed replay ends only the one it is for', async () => {
    const { peer, connection, sink } = await withSession();
    const second = recordingSink();
    const opening = connection.open('attach', { name: NAME, sessionId: 's-1' }, second);
    const { id } = peer.last;
    peer.ok(peer.last, { session_id: 's-1' });
    await opening;
    peer.say({ stream: 'stdout', session_id: 's-1', data: '*', offset: 0, replay_for: id });
    peer.out('stdout', 's-1', 'x', { offset: 0 });
    expect([sink.seen, second.seen]).toEqual([[['stdout', 0, 'x']], [['provider', 'malformed_frame']]]);
    expect(peer.of('detach')).toEqual([]);
  });

  test('output after the exit, and a second exit, are dropped', async () => {
    const { peer, connection, sink } = await withSession();
    peer.exit('s-1', 3);
    peer.out('stdout', 's-1', 'x', { offset: 0 });
    peer.exit('s-1', 4);
    expect(sink.seen).toEqual([['exit', 3]]);
    expect(connection.stats().unknown).toBe(0);
  });

  test('an exit before the reply to the spawn is nobody’s', async () => {
    const { peer, connection } = connectPeer({ instance: 'i-1' });
    const sink = recordingSink();
    const opening = connection.open('spawn', SPAWN, sink);
    peer.exit('s-1', 0);
    peer.ok(peer.last, { session_id: 's-1' });
    await opening;
    expect(sink.seen).toEqual([]);
    peer.exit('s-1', 3);
    expect(sink.seen).toEqual([['exit', 3]]);
  });

  test.each<[string, (peer: ScriptedPeer) => void]>([
    [
      'output with a gap, then an exit',
      (peer) => (peer.out('stdout', 's-1', 'x', { offset: 10 }), peer.exit('s-1', 0)),
    ],
    ['output with a gap', (peer) => peer.out('stderr', 's-1', 'x', { offset: 10 })],
  ])('%s ends the listener once no replay has come for a minute', async (_case, send) => {
    const { peer, connection, clock, sink } = await withSession();
    send(peer);
    clock.advance(59_999);
    expect(sink.seen).toEqual([]);
    clock.advance(1);
    expect(sink.seen).toEqual([['provider', 'stream_gap']]);
    expect(connection.stats()).toMatchObject({ subscribers: 0 });
  });

  test('an exit that came before the reply to its spawn leaves nobody waiting', async () => {
    const { peer, connection, clock } = connectPeer({ instance: 'i-1' });
    const sink = recordingSink();
    const opening = connection.open('spawn', SPAWN, sink);
    peer.exit('s-1', 0);
    peer.ok(peer.last, { session_id: 's-1' });
    await opening;
    clock.advance(60_000);
    expect(sink.seen).toEqual([['provider', 'stream_gap']]);
  });

  test('a replay that goes on, however slowly, is waited for', async () => {
    const { peer, clock, sink, tag } = await withSession();
    peer.out('stdout', 's-1', 'c', { offset: 2 });
    clock.advance(50_000);
    peer.out('stdout', 's-1', 'a', { offset: 0, replay_for: tag });
    clock.advance(50_000);
    peer.out('stdout', 's-1', 'bc', { offset: 1, replay_for: tag });
    peer.exit('s-1', 3);
    clock.advance(200_000);
    expect(sink.seen).toEqual([
      ['stdout', 0, 'a'],
      ['stdout', 1, 'bc'],
      ['exit', 3],
    ]);
  });

  test.each([{ code: 0 }, { code: 128 }, { code: -1 }, { code: 2 ** 32 }])(
    'an exit of %j by a signal is no exit',
    async (more) => {
      const { peer, sink } = await withSession();
      peer.say({ stream: 'exit', session_id: 's-1', signal: 'SIGKILL', ...more });
      expect(sink.seen).toEqual([['provider', 'malformed_frame']]);
    },
  );

  test('a spawn answered with the session of another fails and leaves that alone', async () => {
    const { peer, connection, sink } = await withSession();
    const opening = connection.open('spawn', SPAWN, recordingSink());
    peer.ok(peer.last, { session_id: 's-1' });
    await expect(opening).rejects.toMatchObject({ code: 'provider', detail: 'malformed_reply', effect: 'unknown' });
    await turns();
    peer.out('stdout', 's-1', 'x', { offset: 0 });
    expect(sink.seen).toEqual([['stdout', 0, 'x']]);
    expect(peer.of('detach')).toEqual([]);
  });

  test.each([
    ['empty', ''],
    ['too long', 'x'.repeat(257)],
  ])('a spawn answered with a session id that is %s fails', async (_case, sessionId) => {
    const { peer, connection } = connectPeer({ instance: 'i-1' });
    const opening = connection.open('spawn', SPAWN, recordingSink());
    peer.ok(peer.last, { session_id: sessionId });
    await expect(opening).rejects.toMatchObject({ detail: 'malformed_reply' });
    expect(connection.stats()).toMatchObject({ sessions: 0, pending: 0 });
  });

  test('1 000 frames about unknown ids within 10 s close with 1008, slower ones do not', async () => {
    const { clock, peer, connection } = await withSession();
    for (let i = 0; i < 5_000; i++) {
      clock.advance(10.1);
      peer.exit(`x-${i}`, 0);
    }
    expect(peer.events).toEqual([]);
    clock.advance(10_100);
    for (let i = 0; i < 999; i++) peer.say({ id: 1_000 + i, ok: true });
    expect(peer.events).toEqual([]);
    peer.say({ nonsense: true });
    expect(peer.events).toEqual(['close 1008 too many frames about ids that were never used here']);
    peer.hangUp(1008);
    expect(Object.values(connection.stats()).every((count) => count === 0)).toBe(true);
  });

  test('100 000 frames about what is known and over do not count, and nothing grows', async () => {
    const { peer, connection } = connectPeer({ limits: { staleIds: 100 } });
    for (let i = 0; i < 500; i++) {
      const opening = connection.open('spawn', SPAWN, recordingSink());
      peer.ok(peer.last, { session_id: `s-${i}` });
      peer.exit(`s-${i}`, 0);
      await opening;
    }
    expect(connection.stats()).toMatchObject({ sessions: 0, stale: 200 });
    for (let i = 0; i < 50_000; i++) {
      peer.say({ id: 450, ok: true, result: { session_id: 's-1' } });
      peer.out('stdout', 's-450', 'x');
    }
    expect(connection.stats()).toMatchObject({ unknown: 0, stale: 200 });
    expect(peer.events).toEqual([]);
  });
});
