import { describe, expect, test } from '@jest/globals';
import { connectPeer, recordingSink, turns, type RecordingSink, type ScriptedPeer } from '#libs/testing';
import type { ProtocolLimits } from './limits.js';
import type { RunnerSession } from './link.js';

const NAME = 'runner-x';
const SPAWN = { name: NAME, cmd: 'cat', args: [] };

interface Opened {
  readonly session: RunnerSession;
  readonly sink: RecordingSink;
  readonly tag: number;
}

/** A daemon whose frames say no offset. */
function fieldDaemon(limits?: Partial<ProtocolLimits>) {
  const setup = connectPeer(limits ? { limits } : {});
  const { peer, connection } = setup;

  async function spawn(sessionId = 's-1'): Promise<Opened> {
    const sink = recordingSink();
    const opening = connection.open('spawn', SPAWN, sink);
    const { id } = peer.last;
    peer.ok(peer.last, { session_id: sessionId });
    return { session: await opening, sink, tag: id };
  }

  async function attach(from?: { stdout: number; stderr: number } | 'now'): Promise<Opened> {
    const sink = recordingSink();
    const opening = connection.open('attach', { name: NAME, sessionId: 's-1', ...(from && { from }) }, sink);
    await turns(1);
    const { id } = peer.last;
    peer.ok(peer.last, { session_id: 's-1' });
    return { session: await opening, sink, tag: id };
  }

  return { ...setup, spawn, attach };
}

const out = (offset: number, data: string): unknown[] => ['stdout', offset, data];

describe('a daemon without offsets', () => {
  test('is never sent members that it does not know', async () => {
    const { peer, attach } = fieldDaemon();
    const { session } = await attach({ stdout: 3, stderr: 0 });
    expect(Object.keys(peer.last)).toEqual(['id', 'op', 'name', 'session_id']);
    session.unsubscribe();
    expect(Object.keys(peer.last)).toEqual(['id', 'op', 'name', 'session_id']);
  });

  test.each([
    [{ stdout: 4, stderr: 0 }, [['invalid', 'offset_beyond_end']]],
    [{ stdout: 0, stderr: 1 }, [out(0, 'abc'), ['invalid', 'offset_beyond_end']]],
    [{ stdout: 3, stderr: 0 }, [['exit', 1]]],
    [{ stdout: 2, stderr: 0 }, [out(2, 'c'), ['exit', 1]]],
  ])('an exit before the byte that was asked for, %j, is none', async (from, seen) => {
    const { peer, attach } = fieldDaemon();
    const { sink, tag } = await attach(from);
    peer.out('stdout', 's-1', 'abc', { replay_for: tag });
    peer.exit('s-1', 1, { replay_for: tag });
    expect(sink.seen).toEqual(seen);
  });

  test('live frames after a spawn count from 0', async () => {
    const { peer, spawn } = fieldDaemon();
    const { sink } = await spawn();
    peer.out('stdout', 's-1', 'ab');
    peer.out('stdout', 's-1', 'c');
    peer.exit('s-1', 1);
    expect(sink.seen).toEqual([out(0, 'ab'), out(2, 'c'), ['exit', 1]]);
  });

  test('a replay after a spawn, and live frames behind it', async () => {
    const { peer, spawn } = fieldDaemon();
    const { sink, tag } = await spawn();
    peer.out('stdout', 's-1', 'ab', { replay_for: tag });
    peer.out('stdout', 's-1', 'c');
    peer.exit('s-1', 1);
    expect(sink.seen).toEqual([out(0, 'ab'), out(2, 'c'), ['exit', 1]]);
  });

  test('a live frame between the reply to a spawn and its replay is not doubled', async () => {
    const { peer, spawn } = fieldDaemon();
    const { sink, tag } = await spawn();
    peer.out('stdout', 's-1', 'ab');
    peer.out('stdout', 's-1', 'ab', { replay_for: tag });
    peer.out('stdout', 's-1', 'cd', { replay_for: tag });
    peer.out('stdout', 's-1', 'e');
    peer.exit('s-1', 1);
    expect(sink.seen).toEqual([out(0, 'ab'), out(2, 'cd'), out(4, 'e'), ['exit', 1]]);
  });

  test('a session that speaks before the reply to its spawn is known from its replay only', async () => {
    const { peer, connection } = fieldDaemon();
    const sink = recordingSink();
    const opening = connection.open('spawn', SPAWN, sink);
    const request = peer.last;
    peer.out('stdout', 's-1', 'ab');
    peer.ok(request, { session_id: 's-1' });
    await opening;
    peer.out('stdout', 's-1', 'cd');
    peer.exit('s-1', 0);
    peer.out('stdout', 's-1', 'abcd', { replay_for: request.id });
    peer.exit('s-1', 0, { replay_for: request.id });
    expect(sink.seen).toEqual([out(0, 'abcd'), ['exit', 0]]);
  });

  test.each<[string, (peer: ScriptedPeer) => void]>([
    ['output', (peer) => peer.out('stdout', 's-1', 'ab')],
    ['an exit', (peer) => peer.exit('s-1', 0)],
  ])('%s before the reply to its spawn that no replay repeats is missing', async (_case, say) => {
    const { clock, peer, connection } = fieldDaemon();
    const sink = recordingSink();
    const opening = connection.open('spawn', SPAWN, sink);
    const request = peer.last;
    say(peer);
    peer.ok(request, { session_id: 's-1' });
    await opening;
    peer.out('stdout', 's-1', 'cd');
    peer.exit('s-1', 0);
    clock.advance(1_000);
    expect(sink.seen).toEqual([['provider', 'stream_gap']]);
    expect(peer.last.op).toBe('detach');
    peer.ok(peer.last);
    await turns();
    expect(connection.stats()).toMatchObject({ sessions: 0, timers: 0 });
  });

  test('a session that said all before the reply to its spawn does not hang', async () => {
    const { clock, peer, connection } = fieldDaemon();
    const sink = recordingSink();
    const opening = connection.open('spawn', SPAWN, sink);
    const request = peer.last;
    peer.exit('s-1', 0);
    peer.ok(request, { session_id: 's-1' });
    await opening;
    clock.advance(1_000);
    expect(sink.seen).toEqual([['provider', 'stream_gap']]);
  });

  test('a live frame before the replay of an attach is part of it', async () => {
    const { clock, peer, attach, connection } = fieldDaemon();
    const { sink, tag } = await attach();
    peer.out('stdout', 's-1', 'cd');
    peer.out('stderr', 's-1', 'x');
    expect(sink.seen).toEqual([]);
    peer.out('stdout', 's-1', 'ab', { replay_for: tag });
    peer.out('stdout', 's-1', 'cd', { replay_for: tag });
    peer.out('stderr', 's-1', 'x', { replay_for: tag });
    peer.out('stdout', 's-1', 'e');
    clock.advance(10_000);
    peer.out('stderr', 's-1', 'y');
    expect(sink.seen).toEqual([out(0, 'ab'), out(2, 'cd'), ['stderr', 0, 'x'], out(4, 'e'), ['stderr', 1, 'y']]);
    expect(connection.stats().timers).toBe(0);
  });

  test('an exit before the replay of an attach comes again in it', async () => {
    const { peer, attach, connection } = fieldDaemon();
    const { sink, tag } = await attach();
    peer.out('stdout', 's-1', 'b');
    peer.exit('s-1', 4);
    expect(sink.seen).toEqual([]);
    peer.out('stdout', 's-1', 'ab', { replay_for: tag });
    peer.exit('s-1', 4, { replay_for: tag });
    expect(sink.seen).toEqual([out(0, 'ab'), ['exit', 4]]);
    expect(connection.stats()).toMatchObject({ sessions: 0, timers: 0 });
  });

  test('no replay within a second of the first live frame: the journal was empty', async () => {
    const { clock, peer, attach } = fieldDaemon();
    const { sink, tag } = await attach();
    peer.out('stdout', 's-1', 'ab');
    clock.advance(999);
    peer.out('stdout', 's-1', 'c');
    peer.exit('s-1', 0);
    expect(sink.seen).toEqual([]);
    clock.advance(1);
    expect(sink.seen).toEqual([out(0, 'ab'), out(2, 'c'), ['exit', 0]]);
    peer.out('stdout', 's-1', 'ab', { replay_for: tag });
    expect(sink.seen).toHaveLength(3);
  });

  test('a replay that contradicts that ends the subscriber', async () => {
    const { clock, peer, attach } = fieldDaemon();
    const { sink, tag } = await attach();
    peer.out('stdout', 's-1', 'b');
    clock.advance(1_000);
    peer.out('stdout', 's-1', 'ab', { replay_for: tag });
    expect(sink.seen).toEqual([out(0, 'b'), ['provider', 'stream_gap']]);
    expect(peer.last.op).toBe('detach');
  });

  test('no more than a MiB is held', async () => {
    const { peer, attach } = fieldDaemon();
    const { sink } = await attach();
    for (let i = 0; i < 16; i++) peer.out('stdout', 's-1', new Uint8Array(64 * 1024));
    expect(sink.seen).toHaveLength(0);
    peer.out('stdout', 's-1', 'x');
    expect(sink.seen).toHaveLength(17);
    expect(sink.seen.at(-1)).toEqual(out(1024 * 1024, 'x'));
  });

  test('a second listener: what it did not see live comes in its replay', async () => {
    const { peer, spawn, attach } = fieldDaemon();
    const first = await spawn();
    peer.out('stdout', 's-1', 'ab');
    const second = await attach();
    peer.out('stdout', 's-1', 'c');
    peer.out('stdout', 's-1', 'abc', { replay_for: second.tag });
    peer.out('stdout', 's-1', 'd');
    peer.exit('s-1', 2);
    expect(first.sink.seen).toEqual([out(0, 'ab'), out(2, 'c'), out(3, 'd'), ['exit', 2]]);
    expect(second.sink.seen).toEqual([out(0, 'abc'), out(3, 'd'), ['exit', 2]]);
  });

  test('a live frame within the replay for another is at its place', async () => {
    const { peer, spawn, attach } = fieldDaemon();
    const first = await spawn();
    peer.out('stdout', 's-1', 'abcd');
    const second = await attach();
    peer.out('stdout', 's-1', 'ab', { replay_for: second.tag });
    peer.out('stdout', 's-1', 'e');
    peer.out('stdout', 's-1', 'cde', { replay_for: second.tag });
    peer.out('stdout', 's-1', 'f');
    expect(first.sink.seen).toEqual([out(0, 'abcd'), out(4, 'e'), out(5, 'f')]);
    expect(second.sink.seen).toEqual([out(0, 'ab'), out(2, 'cde'), out(5, 'f')]);
  });

  test('an exit between reply and replay ends the first listener at once and the second behind its replay', async () => {
    const { peer, spawn, attach } = fieldDaemon();
    const first = await spawn();
    peer.out('stdout', 's-1', 'ab');
    const second = await attach();
    peer.exit('s-1', 2);
    expect([first.sink.seen.at(-1), second.sink.seen]).toEqual([['exit', 2], []]);
    peer.out('stdout', 's-1', 'ab', { replay_for: second.tag });
    peer.exit('s-1', 2, { replay_for: second.tag });
    expect(second.sink.seen).toEqual([out(0, 'ab'), ['exit', 2]]);
  });

  test('two who find an empty journal: the replay of a third tells the place of what they were sent', async () => {
    const { peer, attach } = fieldDaemon();
    const first = await attach();
    const second = await attach();
    peer.out('stdout', 's-1', 'ab');
    const third = await attach();
    peer.out('stdout', 's-1', 'c');
    expect(first.sink.seen).toEqual([]);
    peer.out('stdout', 's-1', 'abc', { replay_for: third.tag });
    peer.exit('s-1', 0);
    const live = [out(0, 'ab'), out(2, 'c'), ['exit', 0]];
    expect([first.sink.seen, second.sink.seen]).toEqual([live, live]);
    expect(third.sink.seen).toEqual([out(0, 'abc'), ['exit', 0]]);
  });

  test('a replay tells the place of live output, though whom it was for has left', async () => {
    for (const leaves of ['before', 'within']) {
      const { peer, spawn, attach } = fieldDaemon();
      const first = await spawn();
      const second = await attach();
      if (leaves === 'before') first.session.unsubscribe();
      peer.out('stdout', 's-1', 'ab', { replay_for: first.tag });
      if (leaves === 'within') first.session.unsubscribe();
      peer.out('stdout', 's-1', 'cd', { replay_for: first.tag });
      peer.out('stdout', 's-1', 'e');
      peer.out('stdout', 's-1', 'abcde', { replay_for: second.tag });
      peer.out('stdout', 's-1', 'f');
      expect(second.sink.seen).toEqual([out(0, 'abcde'), out(5, 'f')]);
    }
  });

  test('a pause of the socket is no second without a replay', async () => {
    const { clock, peer, spawn, attach } = fieldDaemon({
      subscriberHighBytes: 8,
      subscriberLowBytes: 2,
      pauseMs: 3_000,
    });
    const other = await spawn('s-2');
    const { sink, tag } = await attach();
    peer.out('stdout', 's-1', 'cd');
    peer.out('stdout', 's-2', 'abcdefgh');
    clock.advance(2_500);
    other.session.taken(8);
    expect(peer.events).toEqual(['pause', 'resume']);
    clock.advance(600);
    peer.out('stdout', 's-1', 'abcd', { replay_for: tag });
    peer.out('stdout', 's-1', 'e');
    expect(sink.seen).toEqual([out(0, 'abcd'), out(4, 'e')]);
  });

  test('from an offset: the replay comes whole, the rest of it is delivered', async () => {
    const { peer, attach } = fieldDaemon();
    const { sink, tag } = await attach({ stdout: 3, stderr: 0 });
    peer.out('stdout', 's-1', 'ab', { replay_for: tag });
    peer.out('stdout', 's-1', 'cdef', { replay_for: tag });
    peer.out('stdout', 's-1', 'g');
    expect(sink.seen).toEqual([out(3, 'def'), out(6, 'g')]);
  });

  test('from now on: only what is live, and the exit', async () => {
    for (const tagged of [false, true]) {
      const { peer, attach } = fieldDaemon();
      const { sink, tag } = await attach('now');
      peer.out('stdout', 's-1', 'ab', { replay_for: tag });
      peer.out('stderr', 's-1', 'x', { replay_for: tag });
      if (!tagged) peer.out('stdout', 's-1', 'c');
      peer.exit('s-1', 5, tagged ? { replay_for: tag } : {});
      expect(sink.seen).toEqual(tagged ? [['exit', 5]] : [out(2, 'c'), ['exit', 5]]);
    }
  });

  test('from now on, beside another listener', async () => {
    const { peer, spawn, attach } = fieldDaemon();
    await spawn();
    peer.out('stdout', 's-1', 'ab');
    const { sink, tag } = await attach('now');
    peer.out('stdout', 's-1', 'c');
    peer.out('stdout', 's-1', 'abc', { replay_for: tag });
    peer.out('stdout', 's-1', 'd');
    expect(sink.seen).toEqual([out(2, 'c'), out(3, 'd')]);
  });

  test('after a detach the counting begins anew', async () => {
    const { peer, spawn, attach } = fieldDaemon();
    const first = await spawn();
    peer.out('stdout', 's-1', 'ab');
    first.session.unsubscribe();
    peer.out('stdout', 's-1', 'cd');
    peer.ok(peer.last);
    await turns();
    const second = await attach();
    peer.out('stdout', 's-1', 'f');
    peer.out('stdout', 's-1', 'abcdef', { replay_for: second.tag });
    peer.out('stdout', 's-1', 'g');
    expect(second.sink.seen).toEqual([out(0, 'abcdef'), out(6, 'g')]);
  });

  test('one request of a session at a time, of whatever kind', async () => {
    const { peer, spawn, connection } = fieldDaemon();
    const { session } = await spawn();
    const done = [
      session.write(Buffer.from('a')),
      connection.open('attach', { name: NAME, sessionId: 's-1' }, recordingSink()),
      session.closeStdin(),
    ];
    for (const op of ['stdin', 'attach', 'stdin_close']) {
      expect(connection.stats().pending).toBe(1);
      expect(peer.last.op).toBe(op);
      peer.ok(peer.last, { session_id: 's-1' });
      await turns();
    }
    await Promise.all(done);
  });

  test('two sessions do not wait for each other', async () => {
    const { peer, spawn, connection } = fieldDaemon();
    const one = await spawn('s-1');
    const two = await spawn('s-2');
    const writes = [one.session.write(Buffer.from('a')), two.session.write(Buffer.from('b'))];
    expect(connection.stats().pending).toBe(2);
    for (const request of peer.of('stdin')) peer.ok(request);
    await Promise.all(writes);
  });

  test('stop does not wait for ever behind a write that the process does not take', async () => {
    const { clock, peer, spawn } = fieldDaemon();
    const { session } = await spawn();
    const write = session.write(Buffer.from('a'));
    const stopping = session.stop();
    await expect(write).rejects.toMatchObject({ detail: 'detached', effect: 'unknown' });
    expect(peer.of('detach')).toEqual([]);
    clock.advance(30_000);
    await stopping;
  });
});

describe('a slow listener to a daemon that cannot hold', () => {
  const limits = { subscriberHighBytes: 8, subscriberLowBytes: 2 };

  test('pauses the socket until it has taken enough', async () => {
    const { clock, peer, spawn } = fieldDaemon(limits);
    const { session, sink } = await spawn();
    peer.out('stdout', 's-1', 'abcdefgh');
    expect(peer.events).toEqual(['pause']);
    peer.out('stdout', 's-1', 'i');
    session.taken(6);
    expect(peer.events).toEqual(['pause']);
    session.taken(1);
    expect(peer.events).toEqual(['pause', 'resume']);
    clock.advance(10_000);
    expect(sink.seen).toEqual([out(0, 'abcdefgh'), out(8, 'i')]);
    expect(peer.of('detach')).toEqual([]);
  });

  test('ends after three seconds, and the others go on', async () => {
    const { clock, peer, spawn, connection } = fieldDaemon(limits);
    const slow = await spawn('s-1');
    const other = await spawn('s-2');
    peer.out('stdout', 's-1', 'abcdefgh');
    clock.advance(2_999);
    expect(peer.events).toEqual(['pause']);
    clock.advance(1);
    expect(peer.events).toEqual(['pause', 'resume']);
    expect(slow.sink.seen.at(-1)).toEqual(['unavailable', 'slow_consumer']);
    expect(peer.last).toMatchObject({ op: 'detach', session_id: 's-1' });
    peer.out('stdout', 's-2', 'x');
    expect(other.sink.seen).toEqual([out(0, 'x')]);
    peer.hangUp();
    expect(connection.stats().timers).toBe(0);
  });

  test.each(['leaves', 'is cut off', 'sees the exit'])('that %s lets the socket go on', async (how) => {
    const { clock, peer, spawn } = fieldDaemon(limits);
    const { session } = await spawn();
    peer.out('stdout', 's-1', 'abcdefgh');
    if (how === 'leaves') session.unsubscribe();
    else if (how === 'is cut off') peer.hangUp();
    else peer.exit('s-1', 0);
    expect(peer.events).toEqual(['pause', 'resume']);
    clock.advance(10_000);
    expect(peer.events).toEqual(['pause', 'resume']);
  });
});
