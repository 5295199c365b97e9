import { describe, expect, test } from '@jest/globals';
import { connectPeer, RecordingRegistry, RUNNER_ID, turns, type PeerOptions, ManualClock } from '#libs/testing';
import type { RunnerLink } from './link.js';

/** Two daemons under one id, on one clock and one registry. */
function two(first: PeerOptions = {}, second: PeerOptions = {}) {
  const clock = new ManualClock();
  const registry = new RecordingRegistry();
  const a = connectPeer({ clock, registry, ...first });
  const b = connectPeer({ clock, registry, ...second });
  return { clock, registry, a, b };
}

function gate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

describe('registration', () => {
  test('registers, says online, beats while the socket lives, unregisters, says offline', async () => {
    const { clock, registry, connection, peer } = connectPeer();
    connection.start();
    await turns();
    expect(registry.calls).toEqual(['register', 'online']);
    peer.bytesRead = 1;
    await clock.pass(19_999);
    expect(registry.calls).toEqual(['register', 'online']);
    await clock.pass(1);
    peer.bytesRead = 2;
    await clock.pass(20_000);
    expect(registry.calls.slice(2)).toEqual(['heartbeat', 'heartbeat']);
    peer.hangUp();
    await connection.settled;
    expect(registry.calls.slice(4)).toEqual(['unregister', 'offline']);
    expect(clock.pending).toBe(0);
  });

  test('tells its owner that it was entered, once, and not when it was refused or has closed meanwhile', async () => {
    const entered: string[] = [];
    const { registry, a, b } = two(
      { onRegistered: () => entered.push('a') },
      { onRegistered: () => entered.push('b') },
    );
    a.connection.start();
    await turns();
    b.connection.start();
    await turns();
    a.peer.listener?.pong();
    await b.connection.settled;
    const slow = gate();
    registry.before = (call) => (call === 'register' ? slow.opened : undefined);
    a.peer.hangUp();
    await a.connection.settled;
    const c = connectPeer({ registry, onRegistered: () => entered.push('c') });
    c.connection.start();
    await turns();
    c.peer.hangUp();
    slow.open();
    await c.connection.settled;
    expect(entered).toEqual(['a']);
  });

  test('tells the registry before the host, however slow the registry is', async () => {
    const { registry, connection, peer } = connectPeer();
    const slow = gate();
    registry.before = (call) => (call === 'unregister' ? slow.opened : undefined);
    connection.start();
    await turns();
    peer.hangUp();
    await turns();
    expect(registry.calls).toEqual(['register', 'online', 'unregister']);
    slow.open();
    await connection.settled;
    expect(registry.calls.at(-1)).toBe('offline');
  });

  test('says offline only after online was taken', async () => {
    const { registry, connection, peer } = connectPeer();
    const slow = gate();
    registry.before = (call) => (call === 'online' ? slow.opened : undefined);
    connection.start();
    await turns();
    peer.hangUp();
    await turns();
    expect(registry.calls).toEqual(['register', 'online', 'unregister']);
    slow.open();
    await connection.settled;
    expect(registry.calls.at(-1)).toBe('offline');
  });

  test('a socket that closes while it registers: out again, and nobody is told', async () => {
    const { registry, connection, peer } = connectPeer();
    const slow = gate();
    registry.before = (call) => (call === 'register' ? slow.opened : undefined);
    connection.start();
    await turns();
    peer.hangUp();
    slow.open();
    await connection.settled;
    expect(registry.calls).toEqual(['register', 'unregister']);
    expect(registry.links.size).toBe(0);
  });

  test('a socket that closed before the start is never registered', async () => {
    const { registry, connection, peer } = connectPeer();
    peer.hangUp(1001, 'bye');
    connection.start();
    await connection.settled;
    expect(registry.calls).toEqual([]);
    expect(await connection.ended).toEqual({ code: 1001, reason: 'bye' });
  });

  test.each(['rejects', 'throws'])('a register that %s closes with 1013', async (how) => {
    const { registry, connection, peer, log } = connectPeer();
    registry.before = (call) => {
      if (call !== 'register') return undefined;
      if (how === 'throws') throw new Error('no quorum');
      return Promise.reject(new Error('no quorum'));
    };
    connection.start();
    await turns();
    expect(peer.events).toEqual(['close 1013 the runner could not be registered']);
    peer.hangUp(1013);
    await connection.settled;
    expect(registry.calls).toEqual(['register', 'unregister']);
    expect(log[0]).toBe(`registry: register of runner ${RUNNER_ID} failed: Error`);
    expect(connection.stats().registryFailures).toBe(1);
  });

  test('failures of heartbeat, presence and unregister are counted and change nothing', async () => {
    const { clock, registry, connection, peer, log } = connectPeer();
    registry.before = (call) => (call === 'register' ? undefined : Promise.reject(new Error('down')));
    connection.start();
    await turns();
    await clock.pass(20_000);
    expect(peer.events).toEqual(['ping']);
    peer.hangUp();
    await connection.settled;
    expect(registry.calls).toEqual(['register', 'online', 'heartbeat', 'unregister', 'offline']);
    expect(connection.stats().registryFailures).toBe(4);
    expect(log).toHaveLength(4);
  });

  test('a second daemon is sent away while the first answers', async () => {
    const { clock, registry, a, b } = two({ instance: 'i-1' }, { instance: 'i-2' });
    a.connection.start();
    await turns();
    b.connection.start();
    await turns();
    expect(a.peer.events).toEqual(['ping']);
    a.connection.pong();
    await turns();
    expect(b.peer.events).toEqual(['close 4409 another runner is connected as "box"']);
    clock.advance(2_000);
    await b.connection.settled;
    expect(a.peer.events).toEqual(['ping']);
    expect(registry.links.get(RUNNER_ID)).toBe(a.connection);
    expect(registry.calls).toEqual(['register', 'online', 'register', 'whereis']);
  });

  test('a second daemon takes over when the first is silent', async () => {
    const { clock, registry, a, b } = two({ instance: 'i-1' }, {});
    a.connection.start();
    await turns();
    b.connection.start();
    await turns();
    await clock.pass(5_000, 100);
    await turns();
    expect(a.peer.events).toContain('close 4409 replaced');
    expect(registry.links.get(RUNNER_ID)).toBe(b.connection);
    await clock.pass(2_000);
    await a.connection.settled;
    expect(registry.calls.filter((call) => call === 'online' || call === 'offline')).toEqual(['online', 'online']);
    b.peer.hangUp();
    await b.connection.settled;
    expect(registry.calls.at(-1)).toBe('offline');
    expect(registry.links.size).toBe(0);
  });

  test('the same daemon that dials again is not asked to wait', async () => {
    const { clock, registry, a, b } = two({ instance: 'i-1' }, { instance: 'i-1' });
    a.connection.start();
    await turns();
    const call = a.connection.request('exec', { name: 'x', cmd: 'true', args: [] });
    const failed = call.catch((error: unknown) => error);
    b.connection.start();
    await turns();
    expect(await failed).toMatchObject({ detail: 'runner_disconnected', effect: 'unknown' });
    expect(registry.links.get(RUNNER_ID)).toBe(b.connection);
    // The end of the old socket comes long after.
    clock.advance(2_000);
    await a.connection.settled;
    expect(registry.links.get(RUNNER_ID)).toBe(b.connection);
    expect(registry.calls).not.toContain('offline');
    const alive = b.connection.request('get', { name: 'x' });
    b.peer.ok(b.peer.last);
    expect(await alive).toEqual({});
    b.peer.hangUp();
    await b.connection.settled;
  });

  test('an incumbent that dies by itself during the probe says nothing after its successor', async () => {
    const { registry, a, b } = two();
    a.connection.start();
    await turns();
    const slow = gate();
    registry.before = (call, link) => (call === 'unregister' && link === a.connection ? slow.opened : undefined);
    b.connection.start();
    await turns();
    a.peer.hangUp();
    await turns();
    slow.open();
    await turns(10);
    expect(registry.links.get(RUNNER_ID)).toBe(b.connection);
    expect(registry.calls.findLast((call) => call === 'online' || call === 'offline')).toBe('online');
  });

  test('a newcomer that leaves during the probe replaces nobody', async () => {
    const { clock, registry, a, b } = two({ instance: 'i-1' }, { instance: 'i-2' });
    a.connection.start();
    await turns();
    b.connection.start();
    await turns();
    b.peer.hangUp();
    await clock.pass(5_000, 500);
    await b.connection.settled;
    expect(a.peer.events.filter((event) => event !== 'ping')).toEqual([]);
    expect(registry.links.get(RUNNER_ID)).toBe(a.connection);
    expect(registry.calls).toEqual(['register', 'online', 'register', 'whereis']);
  });

  test('who is replaced from elsewhere says no offline', async () => {
    const { registry, connection, peer } = connectPeer();
    connection.start();
    await turns();
    connection.close('replaced');
    peer.hangUp(4409);
    await connection.settled;
    expect(registry.calls).toEqual(['register', 'online', 'unregister']);
  });

  test('an old connection that is told late of its end does not speak after the new one', async () => {
    const { registry, a, b } = two();
    const slow = gate();
    registry.unregister = async (id) => {
      registry.links.delete(id);
      await slow.opened;
      return true;
    };
    a.connection.start();
    await turns();
    a.peer.hangUp();
    await turns();
    b.connection.start();
    await turns();
    slow.open();
    await a.connection.settled;
    expect(registry.calls).toEqual(['register', 'online', 'register', 'online']);
    b.peer.hangUp();
    await b.connection.settled;
    expect(registry.calls.at(-1)).toBe('offline');
  });

  test('an incumbent that has gone meanwhile is no conflict', async () => {
    const { registry, connection, peer } = connectPeer();
    let once = true;
    registry.register = async (id, link) => {
      registry.calls.push('register');
      if (once) {
        once = false;
        return 'already_registered';
      }
      registry.links.set(id, link);
      return 'ok';
    };
    connection.start();
    await turns();
    expect(registry.calls).toEqual(['register', 'whereis', 'register', 'online']);
    peer.hangUp();
    await connection.settled;
  });

  test('after three rounds the newcomer goes, and says offline if it has replaced another', async () => {
    const { registry, connection, peer } = connectPeer();
    const closed: string[] = [];
    const zombie: RunnerLink = {
      runnerId: RUNNER_ID,
      capabilities: new Set(),
      request: async () => Promise.reject(new Error('gone')),
      open: async () => Promise.reject(new Error('gone')),
      probe: async () => false,
      close: (reason) => void closed.push(reason),
    };
    registry.links.set(RUNNER_ID, zombie);
    registry.unregister = async () => false;
    connection.start();
    await turns(10);
    expect(closed).toEqual(['replaced', 'replaced', 'replaced']);
    expect(peer.events).toEqual(['close 1013 the runner could not be registered']);
    peer.hangUp();
    await connection.settled;
    expect(registry.calls.filter((call) => call === 'register')).toHaveLength(4);
    expect(registry.calls.at(-1)).toBe('offline');
  });

  test('who was thrown out of the registry by another says no offline', async () => {
    const { registry, connection, peer } = connectPeer();
    connection.start();
    await turns();
    registry.links.set(RUNNER_ID, { runnerId: RUNNER_ID } as RunnerLink);
    peer.hangUp();
    await connection.settled;
    expect(registry.calls).toEqual(['register', 'online', 'unregister', 'whereis']);
  });

  test('5 000 connections come and go and leave nothing', async () => {
    const clock = new ManualClock();
    const registry = new RecordingRegistry();
    for (let i = 0; i < 5_000; i++) {
      const { connection, peer } = connectPeer({ clock, registry, instance: `i-${i}` });
      connection.start();
      const call = i % 3 === 0 ? connection.request('get', { name: 'x' }).catch(() => {}) : undefined;
      await Promise.resolve();
      if (i % 2 === 0) await turns(1);
      peer.hangUp();
      await Promise.all([connection.settled, call]);
    }
    expect([registry.links.size, clock.pending]).toEqual([0, 0]);
    const count = (name: string): number => registry.calls.filter((call) => call === name).length;
    expect(count('online')).toBe(count('offline'));
    expect(count('register')).toBe(count('unregister'));
  });
});

describe('liveness', () => {
  test('silence for 45 s fails everything and drops the transport', async () => {
    const { clock, registry, connection, peer } = connectPeer();
    connection.start();
    await turns();
    const call = connection.request('exec', { name: 'x', cmd: 'true', args: [] }, { timeoutMs: null });
    const failed = call.catch((error: unknown) => error);
    await clock.pass(45_000, 5_000);
    expect(await failed).toMatchObject({ detail: 'runner_disconnected', effect: 'unknown' });
    expect(peer.events).toEqual(['ping', 'ping', 'terminate']);
    await connection.settled;
    expect(registry.calls.slice(-2)).toEqual(['unregister', 'offline']);
  });

  test('a probe is answered by its pong, and false when the connection is over', async () => {
    const { connection, peer } = connectPeer();
    expect(await connection.probe(5_000)).toBe(false);
    connection.start();
    const probe = connection.probe(5_000);
    connection.pong();
    expect(await probe).toBe(true);
    const cut = connection.probe(5_000);
    peer.hangUp();
    expect(await cut).toBe(false);
    expect(await connection.probe(5_000)).toBe(false);
  });
});
