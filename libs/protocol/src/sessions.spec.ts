import { describe, expect, test } from '@jest/globals';
import {
  connectPeer,
  recordingSink,
  turns,
  type PeerOptions,
  type RecordingSink,
  type SentRequest,
} from '#libs/testing';
import type { RunnerSession } from './link.js';

const NAME = 'runner-x';
const SPAWN = { name: NAME, cmd: 'cat', args: [] };

function daemon(options: PeerOptions = {}) {
  const setup = connectPeer({ instance: 'i-1', ...options });
  const { peer, connection } = setup;

  async function spawn(sessionId = 's-1'): Promise<{ session: RunnerSession; sink: RecordingSink; tag: number }> {
    const sink = recordingSink();
    const opening = connection.open('spawn', SPAWN, sink);
    const { id } = peer.last;
    peer.ok(peer.last, { session_id: sessionId });
    return { session: await opening, sink, tag: id };
  }

  async function attach(sessionId = 's-1', from?: { stdout: number; stderr: number } | 'now', begun?: object) {
    const sink = recordingSink();
    const body = { name: NAME, sessionId, ...(from !== undefined && { from }) };
    const opening = connection.open('attach', body, sink);
    await turns(1);
    const { id } = peer.last;
    peer.ok(peer.last, { session_id: sessionId, from: begun ?? (from === 'now' ? undefined : from) });
    return { session: await opening, sink, tag: id };
  }

  return { ...setup, spawn, attach };
}

/** Op and session members of a request, as far as they matter here. */
function shown({ op, session_id, from, hold }: SentRequest): unknown[] {
  return [op, session_id, ...(from === undefined ? [] : [from]), ...(hold === undefined ? [] : ['hold'])];
}

describe('a session', () => {
  test('is subscribed in the turn of the reply: nothing that follows is missed', async () => {
    const { peer, connection } = daemon();
    const sink = recordingSink();
    const opening = connection.open('spawn', SPAWN, sink);
    peer.ok(peer.last, { session_id: 's-1' });
    peer.out('stdout', 's-1', 'ok\n', { offset: 0 });
    peer.exit('s-1', 0);
    expect(sink.seen).toEqual([
      ['stdout', 0, 'ok\n'],
      ['exit', 0],
    ]);
    const session = await opening;
    expect(session.sessionId).toBe('s-1');
    expect(connection.stats()).toMatchObject({ pending: 0, sessions: 0, subscribers: 0, timers: 0 });
    expect(peer.of('detach')).toEqual([]);
  });

  test('exit carries signal, start error and why it was stopped', async () => {
    const { peer, connection } = daemon();
    const frames: unknown[] = [];
    const sink = { frame: (frame: unknown) => frames.push(frame), error: () => {} };
    for (const [i, more] of [
      { signal: 'SIGTERM', stopped_by: 'timeout', gone: true },
      { start_error: 'no such program' },
      { signal: 'not a signal' },
    ].entries()) {
      const opening = connection.open('spawn', SPAWN, sink);
      peer.ok(peer.last, { session_id: `s-${i}` });
      peer.exit(`s-${i}`, 143, more);
      await opening;
    }
    expect(frames).toEqual([
      { type: 'exit', exitCode: 143, signal: 'SIGTERM', stoppedBy: 'timeout', gone: true },
      { type: 'exit', exitCode: 143, startError: 'no such program' },
      { type: 'exit', exitCode: 143 },
    ]);
  });

  test('bytes come through unchanged, and streams are counted apart', async () => {
    const { peer, spawn } = daemon();
    const { sink } = await spawn();
    const every = Uint8Array.from({ length: 256 }, (_, i) => i);
    peer.out('stdout', 's-1', every, { offset: 0 });
    peer.out('stderr', 's-1', 'e', { offset: 0 });
    peer.out('stdout', 's-1', 'o', { offset: 256 });
    expect(sink.seen).toEqual([
      ['stdout', 0, Buffer.from(every).toString('latin1')],
      ['stderr', 0, 'e'],
      ['stdout', 256, 'o'],
    ]);
  });

  test.each<[string, (readonly [string, number, boolean])[], unknown[]]>([
    [
      'in order',
      [
        ['ab', 0, false],
        ['cd', 2, false],
      ],
      [
        ['stdout', 0, 'ab'],
        ['stdout', 2, 'cd'],
      ],
    ],
    [
      'repeated',
      [
        ['ab', 0, false],
        ['ab', 0, false],
        ['cd', 2, false],
      ],
      [
        ['stdout', 0, 'ab'],
        ['stdout', 2, 'cd'],
      ],
    ],
    [
      'overlapping',
      [
        ['ab', 0, false],
        ['abcd', 0, false],
      ],
      [
        ['stdout', 0, 'ab'],
        ['stdout', 2, 'cd'],
      ],
    ],
    [
      'overlapping from within',
      [
        ['abc', 0, false],
        ['bcde', 1, false],
      ],
      [
        ['stdout', 0, 'abc'],
        ['stdout', 3, 'de'],
      ],
    ],
    [
      'with a gap',
      [
        ['ab', 0, false],
        ['d', 3, false],
      ],
      [
        ['stdout', 0, 'ab'],
        ['provider', 'stream_gap'],
      ],
    ],
    [
      'with a gap in its replay',
      [
        ['ab', 0, true],
        ['d', 3, true],
      ],
      [
        ['stdout', 0, 'ab'],
        ['provider', 'stream_gap'],
      ],
    ],
    [
      'live before its replay',
      [
        ['cd', 2, false],
        ['abcd', 0, true],
        ['e', 4, false],
      ],
      [
        ['stdout', 0, 'abcd'],
        ['stdout', 4, 'e'],
      ],
    ],
    [
      'live within its replay',
      [
        ['ab', 0, true],
        ['de', 3, false],
        ['cde', 2, true],
      ],
      [
        ['stdout', 0, 'ab'],
        ['stdout', 2, 'cde'],
      ],
    ],
    [
      'of length 0',
      [
        ['', 0, false],
        ['a', 0, false],
        ['', 1, false],
        ['', 9, false],
      ],
      [
        ['stdout', 0, 'a'],
        ['provider', 'stream_gap'],
      ],
    ],
  ])('frames %s', async (_case, frames, seen) => {
    const { peer, spawn } = daemon();
    const { sink, tag } = await spawn();
    for (const [data, offset, tagged] of frames)
      peer.out('stdout', 's-1', data, { offset, ...(tagged && { replay_for: tag }) });
    expect(sink.seen).toEqual(seen);
  });

  test('after a gap the daemon is told to stop', async () => {
    const { peer, connection, spawn } = daemon();
    await spawn();
    peer.out('stdout', 's-1', 'ab', { offset: 0 });
    peer.out('stdout', 's-1', 'd', { offset: 3 });
    expect(shown(peer.last)).toEqual(['detach', 's-1']);
    expect(peer.last['name']).toBe(NAME);
    peer.ok(peer.last);
    await turns();
    expect(connection.stats()).toMatchObject({ sessions: 0, pending: 0 });
  });

  test('a replay goes to the one who asked, live output to all', async () => {
    const { peer, spawn, attach } = daemon();
    const first = await spawn();
    peer.out('stdout', 's-1', 'ab', { offset: 0 });
    const second = await attach();
    peer.out('stdout', 's-1', 'ab', { offset: 0, replay_for: second.tag });
    peer.out('stdout', 's-1', 'c', { offset: 2 });
    peer.exit('s-1', 7);
    const all = [
      ['stdout', 0, 'ab'],
      ['stdout', 2, 'c'],
      ['exit', 7],
    ];
    expect([first.sink.seen, second.sink.seen]).toEqual([all, all]);
  });

  test('an exit ends a replay that brought everything, though no live output came between', async () => {
    const { peer, attach } = daemon();
    const { sink, tag } = await attach();
    peer.out('stdout', 's-1', 'ab', { offset: 0, replay_for: tag });
    peer.exit('s-1', 7);
    expect(sink.seen).toEqual([
      ['stdout', 0, 'ab'],
      ['exit', 7],
    ]);
  });

  test('a tagged exit ends one subscriber; one who has not caught up waits for its own', async () => {
    const { peer, spawn, attach, connection } = daemon();
    const first = await spawn();
    peer.out('stdout', 's-1', 'abcd', { offset: 0 });
    const second = await attach();
    peer.out('stdout', 's-1', 'ab', { offset: 0, replay_for: second.tag });
    peer.exit('s-1', 7);
    expect(first.sink.seen.at(-1)).toEqual(['exit', 7]);
    expect(second.sink.seen).toEqual([['stdout', 0, 'ab']]);
    peer.out('stdout', 's-1', 'cd', { offset: 2, replay_for: second.tag });
    peer.exit('s-1', 7, { replay_for: second.tag });
    expect(second.sink.seen).toEqual([
      ['stdout', 0, 'ab'],
      ['stdout', 2, 'cd'],
      ['exit', 7],
    ]);
    expect(peer.of('detach')).toEqual([]);
    expect(connection.stats().sessions).toBe(0);
  });

  test('an exit behind a replay with a hole is a gap, not an exit', async () => {
    const { peer, spawn, attach } = daemon();
    await spawn();
    peer.out('stdout', 's-1', 'abcd', { offset: 0 });
    const { sink, tag } = await attach();
    peer.exit('s-1', 0, { replay_for: tag });
    expect(sink.seen).toEqual([['provider', 'stream_gap']]);
  });

  test('an attach begins where it was asked to', async () => {
    const { peer, attach } = daemon();
    const { sink, tag } = await attach('s-1', { stdout: 3, stderr: 0 });
    expect(shown(peer.of('attach')[0]!)).toEqual(['attach', 's-1', { stdout: 3, stderr: 0 }]);
    peer.out('stdout', 's-1', 'cdef', { offset: 2, replay_for: tag });
    expect(sink.seen).toEqual([['stdout', 3, 'def']]);
  });

  test('an attach to what comes begins where the daemon says', async () => {
    const { peer, attach } = daemon();
    const { sink } = await attach('s-1', 'now', { stdout: 100, stderr: 5 });
    peer.out('stdout', 's-1', 'x', { offset: 100 });
    peer.out('stderr', 's-1', 'y', { offset: 6 });
    expect(sink.seen).toEqual([
      ['stdout', 100, 'x'],
      ['provider', 'stream_gap'],
    ]);
  });

  test.each<[string, object, { stdout: number; stderr: number } | 'now' | undefined, string]>([
    ['another session', { session_id: 's-2' }, undefined, 'malformed_reply'],
    ['no session', {}, undefined, 'malformed_reply'],
    ['a replay that begins too late', { session_id: 's-1', from: { stdout: 5, stderr: 0 } }, undefined, 'stream_gap'],
    ['no position for now', { session_id: 's-1' }, 'now', 'malformed_reply'],
  ])('an attach answered with %s fails, and is undone', async (_case, result, from, detail) => {
    const { peer, connection } = daemon();
    const sink = recordingSink();
    const opening = connection.open('attach', { name: NAME, sessionId: 's-1', ...(from && { from }) }, sink);
    peer.ok(peer.last, result);
    await expect(opening).rejects.toMatchObject({ code: 'provider', detail });
    await turns();
    const attached = 'session_id' in result && result.session_id === 's-1';
    expect(peer.of('detach').map(shown)).toEqual(attached ? [['detach', 's-1']] : []);
    for (const request of peer.of('detach')) peer.ok(request);
    await turns();
    expect(connection.stats()).toMatchObject({ sessions: 0, pending: 0, timers: 0 });
    expect(sink.seen).toEqual([]);
  });

  test('a refused attach leaves nothing behind, and its sink is not called', async () => {
    const { peer, connection } = daemon();
    const sink = recordingSink();
    const opening = connection.open('attach', { name: NAME, sessionId: 's-1' }, sink);
    peer.refuse(peer.last, 'truncated', { detail: 'replay_evicted', oldest: { stdout: 9, stderr: 0 } });
    await expect(opening).rejects.toMatchObject({ code: 'truncated', detail: 'replay_evicted', effect: 'none' });
    await turns();
    expect(connection.stats()).toMatchObject({ sessions: 0, pending: 0, timers: 0 });
    expect([sink.seen, peer.of('detach')]).toEqual([[], []]);
  });

  test.each(['abort', 'timeout'] as const)('a spawn given up by %s is detached when it answers late', async (how) => {
    const { clock, peer, connection } = daemon();
    const controller = new AbortController();
    const sink = recordingSink();
    const opening = connection.open('spawn', SPAWN, sink, { signal: controller.signal, timeoutMs: 10 });
    const request = peer.last;
    if (how === 'abort') controller.abort();
    else clock.advance(10);
    await expect(opening).rejects.toMatchObject({ effect: 'unknown' });
    peer.ok(request, { session_id: 's-1' });
    peer.out('stdout', 's-1', 'x', { offset: 0 });
    expect(shown(peer.last)).toEqual(['detach', 's-1']);
    peer.ok(peer.last);
    await turns();
    peer.ok(request, { session_id: 's-1' });
    peer.out('stdout', 's-1', 'y', { offset: 1 });
    expect(peer.of('detach')).toHaveLength(1);
    expect(connection.stats()).toMatchObject({ sessions: 0, pending: 0, unknown: 0, timers: 0 });
    expect(sink.seen).toEqual([]);
  });

  test.each(['abort', 'timeout'] as const)('an attach given up by %s is undone, unless others listen', async (how) => {
    for (const others of [false, true]) {
      const { clock, peer, connection, spawn } = daemon();
      if (others) await spawn();
      const controller = new AbortController();
      const sink = recordingSink();
      const body = { name: NAME, sessionId: 's-1' };
      const opening = connection.open('attach', body, sink, { signal: controller.signal, timeoutMs: 10 });
      const request = peer.last;
      if (how === 'abort') controller.abort();
      else clock.advance(10);
      await expect(opening).rejects.toMatchObject({ effect: 'none' });
      peer.ok(request, { session_id: 's-1' });
      peer.out('stdout', 's-1', 'x', { offset: 0, replay_for: request.id });
      await turns();
      expect(peer.of('detach')).toHaveLength(others ? 0 : 1);
      expect(sink.seen).toEqual([]);
      expect(connection.stats().unknown).toBe(0);
    }
  });

  test('an open that was aborted before does nothing', async () => {
    const { peer, connection } = daemon();
    const options = { signal: AbortSignal.abort('early') };
    const attach = connection.open('attach', { name: NAME, sessionId: 's-1' }, recordingSink(), options);
    await expect(attach).rejects.toMatchObject({ code: 'aborted', effect: 'none', cause: 'early' });
    const spawn = connection.open('spawn', SPAWN, recordingSink(), options);
    await expect(spawn).rejects.toMatchObject({ code: 'aborted', effect: 'none', cause: 'early' });
    expect([peer.requests, connection.stats().sessions]).toEqual([[], 0]);
  });

  test('an error ends one in the middle of its replay, and a replay that fails ends only its own', async () => {
    const { peer, spawn, attach } = daemon();
    const first = await spawn();
    peer.out('stdout', 's-1', 'abcd', { offset: 0 });
    const second = await attach();
    const third = await attach();
    peer.out('stdout', 's-1', 'ab', { offset: 0, replay_for: second.tag });
    const error = { stream: 'error', session_id: 's-1', error: 'unavailable', detail: 'journal_failed' };
    peer.say({ ...error, replay_for: second.tag });
    expect(second.sink.seen).toEqual([
      ['stdout', 0, 'ab'],
      ['unavailable', 'journal_failed'],
    ]);
    peer.say(error);
    expect([first.sink.seen.at(-1), third.sink.seen]).toEqual([
      ['unavailable', 'journal_failed'],
      [['unavailable', 'journal_failed']],
    ]);
  });

  test('the last listener to leave detaches; stop resolves when it was answered', async () => {
    const { peer, spawn, attach } = daemon();
    const first = await spawn();
    const second = await attach();
    await first.session.stop();
    peer.out('stdout', 's-1', 'x', { offset: 0 });
    expect([first.sink.seen, second.sink.seen]).toEqual([[], [['stdout', 0, 'x']]]);
    expect(peer.of('detach')).toEqual([]);
    let stopped = false;
    const stopping = second.session.stop().then(() => (stopped = true));
    second.session.unsubscribe();
    await turns();
    expect([stopped, peer.of('detach').map(shown)]).toEqual([false, [['detach', 's-1']]]);
    expect(peer.last.id).toBeGreaterThan(0);
    peer.ok(peer.last);
    await stopping;
    peer.out('stdout', 's-1', 'late', { offset: 1 });
    expect(second.sink.seen).toEqual([['stdout', 0, 'x']]);
  });

  test.each(['refused', 'unanswered', 'cut off'])('stop resolves when the detach is %s', async (how) => {
    const { clock, peer, spawn } = daemon();
    const { session } = await spawn();
    const stopping = session.stop();
    if (how === 'refused') peer.refuse(peer.last, 'unavailable');
    else if (how === 'unanswered') clock.advance(30_000);
    else peer.hangUp();
    expect(await Promise.all([stopping, session.stop()])).toEqual([undefined, undefined]);
  });

  test('one who attaches while the detach is under way follows it', async () => {
    const { peer, connection, spawn } = daemon();
    const { session } = await spawn();
    session.unsubscribe();
    const sink = recordingSink();
    const opening = connection.open('attach', { name: NAME, sessionId: 's-1' }, sink);
    expect(peer.requests.map(shown).slice(1)).toEqual([['detach', 's-1']]);
    peer.ok(peer.last);
    await turns();
    expect(shown(peer.last)).toEqual(['attach', 's-1']);
    peer.ok(peer.last, { session_id: 's-1' });
    await opening;
    peer.out('stdout', 's-1', 'x', { offset: 0 });
    expect(sink.seen).toEqual([['stdout', 0, 'x']]);
    expect(peer.of('detach')).toHaveLength(1);
  });

  test('one who attaches before the detach is sent keeps the session', async () => {
    const { peer, connection, spawn } = daemon();
    const { session } = await spawn();
    const opening = connection.open('attach', { name: NAME, sessionId: 's-1' }, recordingSink());
    session.unsubscribe();
    peer.ok(peer.last, { session_id: 's-1' });
    await opening;
    await turns();
    expect(peer.of('detach')).toEqual([]);
  });

  test('an error of the session ends it without an exit', async () => {
    const { peer, spawn } = daemon();
    const { sink } = await spawn();
    peer.say({ stream: 'error', session_id: 's-1', error: 'unavailable', detail: 'session_lost' });
    peer.exit('s-1', 0);
    expect(sink.seen).toEqual([['unavailable', 'session_lost']]);
    expect(peer.of('detach')).toEqual([]);
  });

  test('the end of the socket is an error for every subscriber, and no exit', async () => {
    const { peer, connection, spawn, attach } = daemon();
    const first = await spawn();
    const second = await attach();
    const write = first.session.write(new Uint8Array(3));
    peer.hangUp();
    expect([first.sink.seen, second.sink.seen]).toEqual([
      [['unavailable', 'runner_disconnected']],
      [['unavailable', 'runner_disconnected']],
    ]);
    await expect(write).rejects.toMatchObject({ detail: 'runner_disconnected', effect: 'unknown' });
    const late = first.session.write(new Uint8Array(3));
    await expect(late).rejects.toMatchObject({ detail: 'runner_disconnected', effect: 'none' });
    await Promise.all([first.session.stop(), second.session.stop()]);
    expect(Object.values(connection.stats()).every((count) => count === 0)).toBe(true);
  });

  test('the cap on sessions counts what is open and what is being opened', async () => {
    const { peer, connection, spawn } = daemon({ limits: { sessions: 2 } });
    const { session } = await spawn();
    const second = connection.open('spawn', SPAWN, recordingSink());
    const third = connection.open('attach', { name: NAME, sessionId: 's-9' }, recordingSink());
    await expect(third).rejects.toMatchObject({ code: 'unavailable', detail: 'session_limit', effect: 'none' });
    peer.ok(peer.last, { session_id: 's-2' });
    await second;
    session.unsubscribe();
    peer.ok(peer.last);
    await spawn('s-3');
  });

  test('a listener that throws ends alone', async () => {
    const { peer, connection, spawn, log } = daemon();
    const { sink } = await spawn('s-2');
    const throwing = {
      frame: () => {
        throw new Error('secret output');
      },
      error: () => {},
    };
    const opening = connection.open('spawn', SPAWN, throwing);
    peer.ok(peer.last, { session_id: 's-1' });
    const session = await opening;
    peer.out('stdout', 's-1', 'x', { offset: 0 });
    peer.out('stdout', 's-2', 'y', { offset: 0 });
    expect(sink.seen).toEqual([['stdout', 0, 'y']]);
    expect(shown(peer.last)).toEqual(['detach', 's-1']);
    expect(log).toEqual(['a listener of a session failed: Error']);
    await expect(session.write(new Uint8Array(1))).rejects.toMatchObject({ detail: 'detached' });
  });
});

describe('stdin', () => {
  const bytes = (text: string): Uint8Array => Buffer.from(text);

  test('goes in the order of the calls, one answered before the next is sent', async () => {
    const { peer, spawn } = daemon();
    const { session } = await spawn();
    const done: string[] = [];
    const all = [
      session.write(bytes('a')).then(() => done.push('a')),
      session.write(bytes('b')).then(() => done.push('b')),
      session.closeStdin().then(() => done.push('close')),
    ];
    for (const op of ['stdin', 'stdin', 'stdin_close']) {
      expect(peer.last).toMatchObject({ op, name: NAME, session_id: 's-1' });
      peer.ok(peer.last);
      await turns();
    }
    await Promise.all(all);
    expect(done).toEqual(['a', 'b', 'close']);
    expect(peer.of('stdin').map(({ data }) => data)).toEqual(['YQ==', 'Yg==']);
  });

  test('waits as long as the process takes, and attaching does not wait for it', async () => {
    const { clock, peer, spawn, attach } = daemon();
    const { session } = await spawn();
    const write = session.write(bytes('a'));
    const request = peer.last;
    clock.advance(1e7);
    await attach();
    peer.ok(request);
    expect(await write).toBeUndefined();
  });

  test.each([
    ['not_found', 'command_exited'],
    ['command_exited', 'command_exited'],
    ['write_failed', 'write_failed'],
  ])('a write refused with %s is %s', async (word, code) => {
    const { peer, spawn } = daemon();
    const { session } = await spawn();
    const write = session.write(bytes('a'));
    peer.refuse(peer.last, word);
    await expect(write).rejects.toMatchObject({ code });
  });

  test.each(['not_found', 'command_exited'])('closing succeeds though refused with %s', async (word) => {
    const { peer, spawn } = daemon();
    const { session } = await spawn();
    const closing = session.closeStdin();
    peer.refuse(peer.last, word);
    expect(await closing).toBeUndefined();
  });

  test('at the exit what is pending ends: writes as command_exited, closing as done', async () => {
    const { peer, spawn } = daemon();
    const { session } = await spawn();
    const sent = session.write(bytes('a'));
    const queued = session.write(bytes('b'));
    const closing = session.closeStdin();
    peer.exit('s-1', 0);
    await expect(sent).rejects.toMatchObject({ code: 'command_exited', effect: 'unknown' });
    await expect(queued).rejects.toMatchObject({ code: 'command_exited', effect: 'none' });
    await closing;
    await expect(session.write(bytes('c'))).rejects.toMatchObject({ code: 'command_exited', effect: 'none' });
    await session.closeStdin();
    expect(peer.of('stdin')).toHaveLength(1);
    expect(peer.of('stdin_close')).toEqual([]);
  });

  test('after stop it is detached, what was not sent never is', async () => {
    const { peer, spawn, connection } = daemon();
    const { session } = await spawn();
    const sent = session.write(bytes('a'));
    const request = peer.last;
    const queued = session.write(bytes('b'));
    session.unsubscribe();
    await expect(sent).rejects.toMatchObject({ detail: 'detached', effect: 'unknown' });
    await expect(queued).rejects.toMatchObject({ detail: 'detached', effect: 'none' });
    await expect(session.write(bytes('c'))).rejects.toMatchObject({ detail: 'detached', effect: 'none' });
    await expect(session.closeStdin()).rejects.toMatchObject({ detail: 'detached', effect: 'none' });
    peer.ok(peer.last);
    peer.ok(request);
    await turns();
    expect(peer.of('stdin')).toHaveLength(1);
    expect(connection.stats()).toMatchObject({ sessions: 0, pending: 0, timers: 0 });
  });

  test('belongs to the newest open that asked for it; what the one before had asked is carried out', async () => {
    const { peer, connection } = daemon();
    const spawning = connection.open('spawn', { ...SPAWN, stdin: true }, recordingSink());
    peer.ok(peer.last, { session_id: 's-1' });
    const first = await spawning;
    const [sent, queued] = [first.write(Buffer.from('1')), first.write(Buffer.from('2'))];
    await turns(1);
    const attaching = connection.open('attach', { name: NAME, sessionId: 's-1', stdin: true }, recordingSink());
    await turns(1);
    peer.ok(peer.of('attach')[0]!, { session_id: 's-1', from: { stdout: 0, stderr: 0 } });
    const second = await attaching;
    const taken = { code: 'invalid', detail: 'stdin_not_open', effect: 'none' };
    await expect(first.write(Buffer.from('3'))).rejects.toMatchObject(taken);
    await expect(first.closeStdin()).rejects.toMatchObject(taken);
    const next = second.write(Buffer.from('4'));
    for (const [i, write] of [sent, queued, next].entries()) {
      peer.ok(peer.of('stdin')[i]!, {});
      await write;
      await turns(1);
    }
    expect(peer.of('stdin').map(({ data }) => Buffer.from(data as string, 'base64').toString())).toEqual([
      '1',
      '2',
      '4',
    ]);
    expect(peer.of('stdin_close')).toEqual([]);
  });

  test('stays with its owner where an open did not ask for it, or was aborted', async () => {
    const { peer, connection, attach } = daemon();
    const spawning = connection.open('spawn', { ...SPAWN, stdin: true }, recordingSink());
    peer.ok(peer.last, { session_id: 's-1' });
    const owner = await spawning;
    const { session: reader } = await attach();
    await expect(reader.write(Buffer.from('x'))).rejects.toMatchObject({ detail: 'stdin_not_open' });
    const abort = new AbortController();
    const body = { name: NAME, sessionId: 's-1', stdin: true };
    const aborted = connection.open('attach', body, recordingSink(), { signal: abort.signal });
    await turns(1);
    abort.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'aborted' });
    peer.ok(peer.of('attach')[1]!, { session_id: 's-1', from: { stdout: 0, stderr: 0 } });
    await turns(1);
    const write = owner.write(Buffer.from('y'));
    await turns(1);
    peer.ok(peer.of('stdin')[0]!, {});
    await write;
  });

  test('an aborted write that was sent is not overtaken by the next', async () => {
    const { peer, spawn } = daemon();
    const { session } = await spawn();
    const controller = new AbortController();
    const first = session.write(bytes('a'), { signal: controller.signal });
    const never = session.write(bytes('b'), { signal: controller.signal });
    const third = session.write(bytes('c'));
    controller.abort();
    await expect(first).rejects.toMatchObject({ code: 'aborted', effect: 'unknown' });
    await expect(never).rejects.toMatchObject({ code: 'aborted', effect: 'none' });
    await turns();
    expect(peer.of('stdin')).toHaveLength(1);
    peer.ok(peer.last);
    await turns();
    expect(peer.last['data']).toBe('Yw==');
    peer.ok(peer.last);
    await third;
  });

  test('an aborted write that waits for the socket is taken back', async () => {
    const { peer, spawn, connection } = daemon();
    const { session } = await spawn();
    peer.bufferedAmount = 256 * 1024;
    const controller = new AbortController();
    const write = session.write(bytes('a'), { signal: controller.signal });
    controller.abort();
    await expect(write).rejects.toMatchObject({ code: 'aborted', effect: 'none' });
    expect(connection.stats()).toMatchObject({ pending: 0, unsent: 0 });
    expect(peer.of('stdin')).toEqual([]);
  });

  test('more than one request takes is refused', async () => {
    const { peer, spawn } = daemon();
    const { session } = await spawn();
    await expect(session.write(new Uint8Array(256 * 1024 + 1))).rejects.toMatchObject({
      code: 'invalid',
      detail: 'argument',
      effect: 'none',
    });
    expect(peer.of('stdin')).toEqual([]);
  });

  test('draining gives an exec with stdin its time: it writes on, and its end is waited for', async () => {
    const { peer, connection } = daemon();
    const sink = recordingSink();
    const opening = connection.open('spawn', SPAWN, sink, { exec: true });
    const drained = connection.drain(40_000);
    peer.ok(peer.last, { session_id: 's-1' });
    const session = await opening;
    await turns();
    const write = session.write(bytes('a'));
    await turns();
    peer.ok(peer.last);
    await write;
    await turns();
    expect(peer.events).toEqual([]);
    peer.exit('s-1', 0);
    expect(sink.seen).toEqual([['exit', 0]]);
    await expect(session.write(bytes('b'))).rejects.toMatchObject({ code: 'command_exited' });
    await turns();
    expect(peer.events).toEqual(['close 1001 drain']);
    peer.hangUp(1001);
    await drained;
  });

  test('draining waits for no session that is not called an exec, whatever its limits', async () => {
    const { peer, connection } = daemon();
    const sink = recordingSink();
    const opening = connection.open('spawn', { ...SPAWN, maxOutputBytes: 100 }, sink);
    peer.ok(peer.last, { session_id: 's-1' });
    await opening;
    const drained = connection.drain(40_000);
    await turns();
    expect(peer.events).toEqual(['close 1001 drain']);
    peer.hangUp(1001);
    await drained;
  });

  test('a drain ends at its deadline though an exec with stdin does not', async () => {
    const { clock, peer, connection } = daemon();
    const sink = recordingSink();
    const opening = connection.open('spawn', SPAWN, sink, { exec: true });
    peer.ok(peer.last, { session_id: 's-1' });
    await opening;
    const drained = connection.drain(40_000);
    await turns();
    clock.advance(39_999);
    await turns();
    expect(peer.events).toEqual([]);
    clock.advance(1);
    await turns();
    expect(sink.seen).toEqual([['unavailable', 'runner_disconnected']]);
    expect(peer.events).toEqual(['close 1001 drain']);
    peer.hangUp(1001);
    await drained;
  });

  test('draining takes no writes', async () => {
    const { spawn, connection, peer } = daemon();
    const { session } = await spawn();
    void connection.drain(1_000);
    await expect(session.write(bytes('a'))).rejects.toMatchObject({ detail: 'draining', effect: 'none' });
    peer.hangUp();
  });
});

describe('a slow listener', () => {
  const limits = { subscriberHighBytes: 8, subscriberLowBytes: 2 };

  test('is taken off, the daemon holds, and it goes on from where it was', async () => {
    const { peer, connection, spawn } = daemon({ limits });
    const { session, sink } = await spawn();
    peer.out('stdout', 's-1', 'abcde', { offset: 0 });
    expect(peer.of('detach')).toEqual([]);
    peer.out('stderr', 's-1', 'fgh', { offset: 0 });
    expect(shown(peer.last)).toEqual(['detach', 's-1', 'hold']);
    peer.out('stdout', 's-1', 'dropped', { offset: 5 });
    expect(connection.stats().queuedBytes).toBe(8);
    session.taken(5);
    peer.ok(peer.last);
    await turns();
    expect(peer.of('attach')).toEqual([]);
    session.taken(1);
    await turns();
    expect(shown(peer.last)).toEqual(['attach', 's-1', { stdout: 5, stderr: 3 }]);
    peer.out('stdout', 's-1', 'drop', { offset: 5 });
    const { id } = peer.last;
    peer.ok(peer.last, { session_id: 's-1', from: { stdout: 5, stderr: 3 } });
    session.taken(2);
    peer.out('stdout', 's-1', 'dropped', { offset: 5, replay_for: id });
    peer.exit('s-1', 3, { replay_for: id });
    expect(sink.seen).toEqual([
      ['stdout', 0, 'abcde'],
      ['stderr', 0, 'fgh'],
      ['stdout', 5, 'dropped'],
      ['exit', 3],
    ]);
    await turns();
    expect(connection.stats()).toMatchObject({ sessions: 0, pending: 0, queuedBytes: 0 });
    expect(peer.events).toEqual([]);
  });

  test('does not hold up another, who gets the exit first', async () => {
    const { peer, spawn, attach } = daemon({ limits });
    const slow = await spawn();
    const fast = await attach();
    for (let i = 0; i < 4; i++) {
      peer.out('stdout', 's-1', 'abcd', { offset: 4 * i });
      fast.session.taken(4);
    }
    peer.exit('s-1', 1);
    expect(peer.of('detach')).toEqual([]);
    expect(fast.sink.seen).toHaveLength(5);
    expect(slow.sink.seen).toHaveLength(2);
    slow.session.taken(8);
    const { id } = peer.last;
    expect(shown(peer.last)).toEqual(['attach', 's-1', { stdout: 8, stderr: 0 }]);
    peer.ok(peer.last, { session_id: 's-1', from: { stdout: 8, stderr: 0 } });
    peer.out('stdout', 's-1', 'abcdabcd', { offset: 8, replay_for: id });
    peer.exit('s-1', 1, { replay_for: id });
    expect(slow.sink.seen.slice(2)).toEqual([['stdout', 8, 'abcdabcd']]);
    // It is off once more: the daemon is told to stop, and the exit comes again.
    await turns();
    expect(shown(peer.last)).toEqual(['detach', 's-1']);
    slow.session.taken(8);
    peer.ok(peer.last);
    await turns();
    const again = peer.last;
    peer.ok(again, { session_id: 's-1', from: { stdout: 16, stderr: 0 } });
    peer.exit('s-1', 1, { replay_for: again.id });
    expect(slow.sink.seen.slice(2)).toEqual([
      ['stdout', 8, 'abcdabcd'],
      ['exit', 1],
    ]);
  });

  test('ends with what the attach was refused with', async () => {
    const { peer, connection, spawn } = daemon({ limits });
    const { session, sink } = await spawn();
    peer.out('stdout', 's-1', 'abcdefgh', { offset: 0 });
    peer.ok(peer.last);
    session.taken(8);
    await turns();
    peer.refuse(peer.last, 'truncated', { detail: 'replay_evicted', oldest: { stdout: 99, stderr: 0 } });
    await turns();
    expect(sink.seen.at(-1)).toEqual(['truncated', 'replay_evicted']);
    expect(shown(peer.last)).toEqual(['detach', 's-1']);
    peer.ok(peer.last);
    await turns();
    expect(connection.stats()).toMatchObject({ sessions: 0, pending: 0 });
  });

  test('that leaves while it is held releases the process', async () => {
    const { peer, spawn } = daemon({ limits });
    const { session } = await spawn();
    peer.out('stdout', 's-1', 'abcdefgh', { offset: 0 });
    peer.ok(peer.last);
    const stopping = session.stop();
    await turns();
    expect(shown(peer.last)).toEqual(['detach', 's-1']);
    peer.ok(peer.last);
    await stopping;
  });

  test('that is off when the last fast one leaves makes the daemon hold', async () => {
    const { peer, spawn, attach } = daemon({ limits });
    await spawn();
    const fast = await attach();
    peer.out('stdout', 's-1', 'abcd', { offset: 0 });
    fast.session.taken(4);
    peer.out('stdout', 's-1', 'efgh', { offset: 4 });
    expect(peer.of('detach')).toEqual([]);
    fast.session.unsubscribe();
    expect(peer.of('detach').map(shown)).toEqual([['detach', 's-1', 'hold']]);
  });

  test('that takes at once is never taken off', async () => {
    const { peer, connection } = daemon({ limits });
    let total = 0;
    const session: { current?: RunnerSession } = {};
    const opening = connection.open('spawn', SPAWN, {
      frame: (frame) => {
        if (frame.type === 'exit') return;
        total += frame.data.length;
        session.current?.taken(frame.data.length);
      },
      error: () => {},
    });
    peer.ok(peer.last, { session_id: 's-1' });
    session.current = await opening;
    for (let i = 0; i < 100; i++) peer.out('stdout', 's-1', 'abcdefghi', { offset: 9 * i });
    expect([total, peer.requests.length]).toEqual([900, 1]);
  });
});
