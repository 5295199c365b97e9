import { describe, expect, test } from '@jest/globals';
import { SandboxError } from '#libs/contract/core';
import { connectPeer, turns, type ManualClock } from '#libs/testing';

const NAME = 'runner-x';
const EXEC = { name: NAME, cmd: 'true', args: [] };

/** How a promise rejected, as far as callers go by it. */
async function rejection(promise: Promise<unknown>): Promise<unknown[]> {
  const error: unknown = await promise.then(
    (value) => ['resolved', value],
    (reason: unknown) => reason,
  );
  if (!(error instanceof SandboxError)) return ['not a SandboxError', error];
  return error.detail === undefined ? [error.code, error.effect] : [error.code, error.detail, error.effect];
}

describe('requests', () => {
  test('replies find their callers, in any order, under ids from 1', async () => {
    const { peer, connection } = connectPeer();
    const first = connection.request('get', { name: NAME });
    const second = connection.request('exec', EXEC);
    expect(peer.requests.map(({ id, op }) => [id, op])).toEqual([
      [1, 'get'],
      [2, 'exec'],
    ]);
    peer.say({ id: 2, ok: true, result: { output: 'aGk=', code: 3 } });
    peer.say({ id: 1, ok: true, result: { status: 'running' } });
    expect(await second).toEqual({ output: Buffer.from('hi'), code: 3 });
    expect(await first).toEqual({ status: 'running' });
    expect(connection.stats().pending).toBe(0);
  });

  test.each([
    ['get', { name: NAME }, 30_000, 'none'],
    ['create', { name: NAME }, 30_000, 'unknown'],
    ['exec', EXEC, 30_000, 'unknown'],
    ['destroy', { name: NAME }, 120_000, 'unknown'],
    ['suspend', { name: NAME }, 120_000, 'unknown'],
  ] as const)('%s times out on its own', async (op, body, timeoutMs, effect) => {
    const { clock, connection } = connectPeer();
    const result = connection.request(op, body);
    clock.advance(timeoutMs - 1);
    expect(connection.stats().pending).toBe(1);
    clock.advance(1);
    expect(await rejection(result)).toEqual(['unavailable', 'runner_timeout', effect]);
    expect(connection.stats()).toMatchObject({ pending: 0, timers: 0 });
  });

  test('a timeout can be given, or none: it then waits as long as the socket lives', async () => {
    const { clock, peer, connection } = connectPeer();
    const brief = connection.request('exec', EXEC, { timeoutMs: 5 });
    const endless = connection.request('exec', EXEC, { timeoutMs: null });
    const stdin = connection.request('stdin', { name: NAME, sessionId: 's', data: new Uint8Array(1) });
    clock.advance(1e9);
    expect(await rejection(brief)).toEqual(['unavailable', 'runner_timeout', 'unknown']);
    expect(connection.stats().pending).toBe(2);
    peer.hangUp();
    expect(await rejection(endless)).toEqual(['unavailable', 'runner_disconnected', 'unknown']);
    expect(await rejection(stdin)).toEqual(['unavailable', 'runner_disconnected', 'unknown']);
  });

  test('an abort counts at once, with its reason', async () => {
    const { peer, connection } = connectPeer();
    const before = AbortSignal.abort('early');
    expect(await rejection(connection.request('exec', EXEC, { signal: before }))).toEqual(['aborted', 'none']);
    expect(peer.requests).toEqual([]);
    const during = new AbortController();
    const result = connection.request('exec', EXEC, { signal: during.signal });
    during.abort('late');
    await expect(result).rejects.toMatchObject({ code: 'aborted', effect: 'unknown', cause: 'late' });
    expect(connection.stats()).toMatchObject({ pending: 0, timers: 0 });
  });

  test.each([
    ['an abort', (controller: AbortController) => controller.abort()],
    ['a timeout', (_: AbortController, clock: ManualClock) => clock.advance(1_000)],
  ])('%s of an exec has a daemon that can stop the command', async (_case, giveUp) => {
    const { peer, connection, clock } = connectPeer({ instance: 'i-1' });
    const controller = new AbortController();
    const { signal } = controller;
    const exec = rejection(connection.request('exec', EXEC, { signal, timeoutMs: 1_000 }));
    const { id } = peer.last;
    giveUp(controller, clock);
    await exec;
    expect(peer.of('cancel').map(({ request }) => request)).toEqual([id]);
    peer.ok(peer.last, {});
    expect(connection.stats()).toMatchObject({ pending: 0, timers: 0 });
  });

  test('nothing is cancelled that is no exec, was not sent, or that the daemon cannot', async () => {
    for (const [instance, op] of [
      ['i-1', 'get'],
      [undefined, 'exec'],
    ] as const) {
      const { peer, connection } = connectPeer(instance === undefined ? {} : { instance });
      const controller = new AbortController();
      const call = rejection(connection.request(op, EXEC, { signal: controller.signal }));
      controller.abort();
      await call;
      expect(peer.of('cancel')).toEqual([]);
    }
  });

  test('the cap on requests in flight refuses one more and no other', async () => {
    const { peer, connection } = connectPeer({ limits: { inFlight: 2 } });
    const first = connection.request('get', { name: 'a' });
    const second = connection.request('get', { name: 'b' });
    expect(await rejection(connection.request('exec', EXEC))).toEqual(['unavailable', 'in_flight_limit', 'none']);
    peer.say({ id: 1, ok: true });
    const third = connection.request('get', { name: 'c' });
    peer.say({ id: 2, ok: true });
    peer.say({ id: peer.last.id, ok: true });
    expect(await Promise.all([first, second, third])).toEqual([{}, {}, {}]);
  });

  test.each([
    ['in bytes of ASCII', 'x'.repeat(1_000)],
    ['counted as UTF-8', 'ä'.repeat(300)],
  ])('a request over the frame cap is refused alone, %s', async (_case, arg) => {
    const { peer, connection } = connectPeer({ limits: { maxFrameBytes: 600 } });
    const other = connection.request('get', { name: NAME });
    expect(await rejection(connection.request('exec', { ...EXEC, args: [arg] }))).toEqual([
      'invalid',
      'request_too_large',
      'none',
    ]);
    expect(peer.requests.map(({ op }) => op)).toEqual(['get']);
    peer.ok(peer.last);
    expect(await other).toEqual({});
    expect(connection.stats()).toMatchObject({ pending: 0, unsent: 0, timers: 0 });
  });

  test('while much waits on the socket, requests wait in order and are not encoded', async () => {
    const { peer, connection } = connectPeer();
    peer.bufferedAmount = 256 * 1024;
    let reads = 0;
    const body = {
      ...EXEC,
      get cmd() {
        reads++;
        return 'true';
      },
    };
    const results = [connection.request('get', { name: 'a' }), connection.request('exec', body)];
    expect([peer.requests, reads, connection.stats().unsent]).toEqual([[], 0, 2]);
    peer.bufferedAmount = 256 * 1024 - 1;
    results.push(connection.request('get', { name: 'c' }));
    expect(peer.requests.map(({ op }) => op)).toEqual(['get', 'exec', 'get']);
    expect(connection.stats().unsent).toBe(0);
    peer.hangUp();
    await Promise.allSettled(results);
  });

  test('what waits goes out when the socket has room again', async () => {
    const { peer, connection } = connectPeer();
    peer.bufferedAmount = 1;
    const first = connection.request('get', { name: 'a' });
    peer.bufferedAmount = 256 * 1024;
    const second = connection.request('get', { name: 'b' });
    expect(peer.requests).toHaveLength(1);
    peer.flush();
    expect(peer.requests.map(({ name }) => name)).toEqual(['a', 'b']);
    peer.ok(peer.requests[0]!);
    peer.ok(peer.requests[1]!);
    await Promise.all([first, second]);
  });

  test('what was not sent yet is taken back by an abort, a timeout or the end', async () => {
    const { clock, peer, connection } = connectPeer();
    peer.bufferedAmount = 256 * 1024;
    const controller = new AbortController();
    const aborted = connection.request('exec', EXEC, { signal: controller.signal });
    const late = connection.request('exec', EXEC, { timeoutMs: 10 });
    const lost = connection.request('exec', EXEC, { timeoutMs: null });
    controller.abort();
    clock.advance(10);
    expect(connection.stats().unsent).toBe(1);
    peer.hangUp();
    expect(await rejection(aborted)).toEqual(['aborted', 'none']);
    expect(await rejection(late)).toEqual(['unavailable', 'runner_timeout', 'none']);
    expect(await rejection(lost)).toEqual(['unavailable', 'runner_disconnected', 'none']);
    expect(peer.requests).toEqual([]);
  });

  test.each([
    ['get', { name: NAME }, { result: { status: 3 } }, 'status', 'none'],
    ['exec', EXEC, { result: { output: 'aGk=' } }, 'code', 'unknown'],
    ['exec', EXEC, { result: { output: 'aGk=', code: 1.5 } }, 'code', 'unknown'],
    ['exec', EXEC, { result: { output: 'not base64!', code: 0 } }, 'output', 'unknown'],
    ['exec', EXEC, {}, 'output', 'unknown'],
    ['list', {}, { result: { names: [1] } }, 'names', 'none'],
    ['create', { name: NAME }, { result: [] }, 'frame', 'unknown'],
    ['list_sessions', { name: NAME }, { result: { sessions: {} } }, 'sessions', 'none'],
  ] as const)('a wrong reply to %s is malformed, never a guess', async (op, body, reply, member, effect) => {
    const { peer, connection } = connectPeer();
    const result = connection.request(op, body);
    peer.say({ id: 1, ok: true, ...reply });
    expect(await rejection(result)).toEqual(['provider', 'malformed_reply', effect]);
    await expect(result).rejects.toThrow(new RegExp(`^${op}: malformed reply: ${member}: expected `));
  });

  test.each([
    ['no ok', { id: 1, result: {} }],
    ['ok as a string', { id: 1, ok: 'true' }],
    ['a refusal without a word', { id: 1, ok: false }],
    ['a refusal with a number', { id: 1, ok: false, error: 7 }],
    ['a refusal with a bad effect', { id: 1, ok: false, error: 'invalid', effect: 'maybe' }],
  ])('%s is a malformed reply', async (_case, frame) => {
    const { peer, connection } = connectPeer();
    const result = connection.request('exec', EXEC);
    peer.say(frame);
    expect(await rejection(result)).toEqual(['provider', 'malformed_reply', 'unknown']);
  });

  test('draining refuses new calls, gives the old ones time, and closes with 1001', async () => {
    const { clock, peer, connection } = connectPeer();
    const old = connection.request('exec', EXEC, { timeoutMs: null });
    const drained = connection.drain(40_000);
    expect(await rejection(connection.request('get', { name: NAME }))).toEqual(['unavailable', 'draining', 'none']);
    clock.advance(39_999);
    expect(peer.events).toEqual([]);
    peer.ok(peer.last, { output: '', code: 0 });
    expect(await old).toEqual({ output: Buffer.alloc(0), code: 0 });
    await turns();
    expect(peer.events).toEqual(['close 1001 drain']);
    peer.hangUp(1001);
    await drained;
    expect(connection.stats().timers).toBe(0);
  });

  test('a drain ends at its deadline, and without the peer if need be', async () => {
    const { clock, peer, connection } = connectPeer();
    const old = connection.request('exec', EXEC, { timeoutMs: null });
    const drained = connection.drain(40_000);
    clock.advance(40_000);
    expect(await rejection(old)).toEqual(['unavailable', 'runner_disconnected', 'unknown']);
    await turns();
    expect(peer.events).toEqual(['close 1001 drain']);
    clock.advance(2_000);
    await drained;
    expect(peer.events).toEqual(['close 1001 drain', 'terminate']);
  });

  test.each([
    ['runner_deleted', 4404],
    ['replaced', 4409],
    ['drain', 1001],
  ] as const)('close(%s) fails everything before the handshake is over', async (reason, code) => {
    const { clock, peer, connection } = connectPeer();
    const pending = connection.request('exec', EXEC);
    connection.close(reason);
    connection.close('drain');
    expect(await rejection(pending)).toEqual(['unavailable', 'runner_disconnected', 'unknown']);
    expect(await rejection(connection.request('exec', EXEC))).toEqual(['unavailable', 'runner_disconnected', 'none']);
    expect(peer.events).toEqual([`close ${code} ${reason}`]);
    clock.advance(2_000);
    expect(peer.events).toEqual([`close ${code} ${reason}`, 'terminate']);
    expect(await connection.ended).toEqual({ code: 1006, reason: '' });
    await connection.settled;
    expect(Object.values(connection.stats()).every((count) => count === 0)).toBe(true);
  });

  test('10 000 requests that end in every way leave nothing', async () => {
    const { clock, peer, connection } = connectPeer();
    const signal = new AbortController();
    let settled = 0;
    for (let i = 0; i < 10_000; i++) {
      const done = connection
        .request('exec', EXEC, { timeoutMs: i % 2 ? 10 : null, ...(i % 3 === 0 && { signal: signal.signal }) })
        .then(
          () => settled++,
          () => settled++,
        );
      if (i % 5 === 0) peer.ok(peer.last, { output: '', code: 0 });
      else if (i % 5 === 1) peer.refuse(peer.last, 'invalid');
      else if (i % 5 === 2) peer.ok(peer.last, {});
      if (i % 500 === 0) clock.advance(10);
      void done;
    }
    signal.abort();
    peer.hangUp();
    await turns();
    expect(settled).toBe(10_000);
    expect(Object.values(connection.stats()).every((count) => count === 0)).toBe(true);
    expect(clock.pending).toBe(0);
  });
});
