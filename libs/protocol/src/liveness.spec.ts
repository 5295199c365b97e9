import { describe, expect, jest, test } from '@jest/globals';
import { ManualClock } from '#libs/testing';
import { Liveness } from './liveness.js';
import type { Socket } from './socket.js';

function setUp() {
  const clock = new ManualClock();
  const ping = jest.fn<() => void>();
  const socket = { bytesRead: 0, ping } as unknown as Socket & { bytesRead: number };
  const onDead = jest.fn<() => void>();
  const onPing = jest.fn<() => void>();
  const liveness = new Liveness(socket, { clock, pingIntervalMs: 20_000, silenceMs: 45_000, onDead, onPing });
  return { clock, ping, socket, onDead, onPing, liveness };
}

/** The answer of a probe as far as there is one. */
function watch(answer: Promise<boolean>): () => Promise<boolean | 'pending'> {
  return () => Promise.race([answer, new Promise<'pending'>((resolve) => setImmediate(() => resolve('pending')))]);
}

describe('pings and silence', () => {
  test('pings every interval, the first after one', () => {
    const { clock, ping, onPing } = setUp();
    clock.advance(19_999);
    expect(ping).toHaveBeenCalledTimes(0);
    clock.advance(1);
    expect(ping).toHaveBeenCalledTimes(1);
    clock.advance(20_000);
    expect(ping).toHaveBeenCalledTimes(2);
    expect(onPing).toHaveBeenCalledTimes(2);
  });

  test('calls onDead once after 45 s without a byte, and no timer is left', () => {
    const { clock, onDead } = setUp();
    clock.advance(44_999);
    expect(onDead).toHaveBeenCalledTimes(0);
    clock.advance(1);
    expect(onDead).toHaveBeenCalledTimes(1);
    expect(clock.pending).toBe(0);
    clock.advance(1_000_000);
    expect(onDead).toHaveBeenCalledTimes(1);
  });

  test('notices a silence that begins between two samples at most 5 s late', () => {
    const { clock, socket, onDead } = setUp();
    clock.advance(61);
    socket.bytesRead += 1;
    clock.advance(45_000);
    expect(onDead).toHaveBeenCalledTimes(0);
    clock.advance(5_000);
    expect(onDead).toHaveBeenCalledTimes(1);
  });

  test('a byte every 44 s keeps it alive without any pong', () => {
    const { clock, socket, onDead } = setUp();
    for (let i = 0; i < 20; i++) {
      clock.advance(44_000);
      socket.bytesRead += 1;
      clock.advance(1_000);
    }
    expect(onDead).toHaveBeenCalledTimes(0);
  });

  test('a pong without bytes is no proof of life', () => {
    const { clock, liveness, onDead } = setUp();
    clock.advance(20_000);
    liveness.pong();
    clock.advance(25_000);
    expect(onDead).toHaveBeenCalledTimes(1);
  });

  test('time in which this process stood still is not the silence of the peer', () => {
    const { clock, liveness, socket, onDead } = setUp();
    liveness.stop();
    const jumping = { now: () => clock.now() + jump, after: clock.after.bind(clock) };
    let jump = 0;
    const second = new Liveness(socket, { clock: jumping, pingIntervalMs: 20_000, silenceMs: 45_000, onDead });
    clock.advance(4_999);
    jump = 600_000;
    clock.advance(1);
    expect(onDead).toHaveBeenCalledTimes(0);
    clock.advance(35_000);
    expect(onDead).toHaveBeenCalledTimes(1);
    second.stop();
  });

  test.each([1, 2])('stopped %i times it does nothing and keeps no timer', (times) => {
    const { clock, ping, liveness, onDead } = setUp();
    for (let i = 0; i < times; i++) liveness.stop();
    expect(clock.pending).toBe(0);
    clock.advance(100_000);
    expect(ping).toHaveBeenCalledTimes(0);
    expect(onDead).toHaveBeenCalledTimes(0);
  });
});

describe('probe', () => {
  test('is answered by its own pong', async () => {
    const { liveness, ping } = setUp();
    const answer = watch(liveness.probe(5_000));
    expect(ping).toHaveBeenCalledTimes(1);
    expect(await answer()).toBe('pending');
    liveness.pong();
    expect(await answer()).toBe(true);
  });

  test('is not answered by the pong to an earlier ping', async () => {
    const { clock, liveness } = setUp();
    clock.advance(20_000);
    const answer = watch(liveness.probe(5_000));
    liveness.pong();
    expect(await answer()).toBe('pending');
    liveness.pong();
    expect(await answer()).toBe(true);
  });

  test('pongs nobody asked for do not answer later probes', async () => {
    const { liveness } = setUp();
    liveness.pong();
    liveness.pong();
    const answer = watch(liveness.probe(5_000));
    expect(await answer()).toBe('pending');
    liveness.stop();
  });

  test('is not answered by bytes within the first second', async () => {
    const { clock, liveness, socket } = setUp();
    const answer = watch(liveness.probe(5_000));
    clock.advance(999);
    socket.bytesRead += 100;
    clock.advance(4_000);
    expect(await answer()).toBe('pending');
    clock.advance(1);
    expect(await answer()).toBe(false);
  });

  test('is answered by bytes after the first second', async () => {
    const { clock, liveness, socket } = setUp();
    const answer = watch(liveness.probe(5_000));
    clock.advance(1_001);
    socket.bytesRead += 1;
    clock.advance(100);
    expect(await answer()).toBe(true);
  });

  test('pings again after a second, for peers that answer several pings with one pong', () => {
    const { clock, liveness, ping } = setUp();
    void liveness.probe(5_000);
    clock.advance(1_000);
    expect(ping).toHaveBeenCalledTimes(2);
    liveness.stop();
  });

  test('is false at its timeout, and false at once when stopped before or meanwhile', async () => {
    const { clock, liveness } = setUp();
    const late = watch(liveness.probe(5_000));
    clock.advance(4_999);
    expect(await late()).toBe('pending');
    clock.advance(1);
    expect(await late()).toBe(false);
    const cut = watch(liveness.probe(5_000));
    liveness.stop();
    expect(await cut()).toBe(false);
    expect(await liveness.probe(5_000)).toBe(false);
    expect(clock.pending).toBe(0);
  });
});
