import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { connectPeer, ManualClock, RecordingRegistry, RUNNER_ID as PEER_ID, turns } from '#libs/testing';
import type { RunnerLink } from '#libs/protocol';
import { runnerSandboxName } from '../../src/runner/index.js';
import { base64, ScriptedDaemon } from '../support/scripted-daemon.js';
import { TestApp } from '../support/nest-app.js';
import { RUNNER_ID, RUNNER_TOKEN } from '../support/runners.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { settles, until } from '../support/until.js';

describe('a third daemon that dials while the second waits for a probe of the first', () => {
  let clock: ManualClock;
  let registry: RecordingRegistry;

  beforeEach(() => {
    clock = new ManualClock();
    registry = new RecordingRegistry();
  });

  /** One that answers pings, unless it is silent. */
  function contender(instance: string, { silent = false } = {}) {
    const one = connectPeer({ clock, registry, instance });
    const { peer, connection } = one;
    const ping = peer.ping.bind(peer);
    peer.ping = () => {
      ping();
      if (!silent) queueMicrotask(() => connection.pong());
    };
    const close = peer.close.bind(peer);
    peer.close = (code, reason) => {
      close(code, reason);
      if (!silent) queueMicrotask(() => peer.hangUp(code, reason));
    };
    return { ...one, closes: () => peer.events.filter((event) => event.startsWith('close')) };
  }

  const presence = () => registry.calls.filter((call) => call === 'online' || call === 'offline');

  test.each([0, 1_000, 2_500, 4_900])('the first is dead: one of them takes over, %i ms apart', async (apartMs) => {
    const first = contender('i-1', { silent: true });
    first.connection.start();
    await turns();
    const second = contender('i-2');
    second.connection.start();
    await clock.pass(apartMs, 100);
    const third = contender('i-3');
    third.connection.start();
    await clock.pass(20_000, 100);
    await first.connection.settled;
    expect(first.closes()).toEqual(['close 4409 replaced']);
    const [winner, loser] = registry.links.get(PEER_ID) === second.connection ? [second, third] : [third, second];
    expect(registry.links.get(PEER_ID)).toBe(winner.connection);
    expect(loser.closes()).toEqual(['close 4409 another runner is connected as "box"']);
    await loser.connection.settled;
    expect(winner.closes()).toEqual([]);
    expect(presence().at(-1)).toBe('online');
    expect(presence()).not.toContain('offline');
    winner.peer.hangUp();
    await winner.connection.settled;
    expect([presence().at(-1), registry.links.size]).toEqual(['offline', 0]);
  });

  test('the first answers: both are sent away, and it was never disturbed', async () => {
    const first = contender('i-1', { silent: true });
    first.connection.start();
    await turns();
    const others = [contender('i-2'), contender('i-3')];
    for (const { connection } of others) {
      connection.start();
      await turns();
    }
    first.connection.pong();
    first.connection.pong();
    await clock.pass(10_000, 100);
    await Promise.all(others.map(({ connection }) => connection.settled));
    for (const { closes } of others) expect(closes()).toEqual(['close 4409 another runner is connected as "box"']);
    expect(first.closes()).toEqual([]);
    expect(registry.links.get(PEER_ID)).toBe(first.connection);
    expect(presence()).toEqual(['online']);
    expect(registry.calls).not.toContain('unregister');
  });

  test('the first is dead and far away, so that each finds out by itself: the word of the winner counts', async () => {
    const closed: string[] = [];
    const far: RunnerLink = {
      runnerId: PEER_ID,
      capabilities: new Set(),
      request: () => Promise.reject(new Error('gone')),
      open: () => Promise.reject(new Error('gone')),
      probe: (timeoutMs) => new Promise((resolve) => clock.after(timeoutMs, () => resolve(false))),
      close: (reason) => void closed.push(reason),
    };
    registry.links.set(PEER_ID, far);
    const second = contender('i-2');
    second.connection.start();
    await clock.pass(2_000, 100);
    const third = contender('i-3');
    third.connection.start();
    await clock.pass(10_000, 100);
    await third.connection.settled;
    expect(closed).toEqual(['replaced', 'replaced']);
    expect(third.closes()).toEqual(['close 4409 another runner is connected as "box"']);
    expect(registry.links.get(PEER_ID)).toBe(second.connection);
    expect(presence()).toEqual(['online']);
    second.peer.hangUp();
    await second.connection.settled;
    expect(presence()).toEqual(['online', 'offline']);
  });

  test('the second leaves during the probe: the third takes over', async () => {
    const first = contender('i-1', { silent: true });
    first.connection.start();
    await turns();
    const second = contender('i-2');
    second.connection.start();
    await clock.pass(2_000, 100);
    const third = contender('i-3');
    third.connection.start();
    await turns();
    second.peer.hangUp();
    await clock.pass(20_000, 100);
    await second.connection.settled;
    expect(registry.links.get(PEER_ID)).toBe(third.connection);
    expect(third.closes()).toEqual([]);
    expect([presence().at(-1), presence().includes('offline')]).toEqual(['online', false]);
  });
});

describe('over real sockets', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await TestApp.start({
      runners: { heartbeatIntervalMs: 100, pingIntervalMs: 2_000, silenceMs: 60_000, probeTimeoutMs: 3_000 },
    });
  });

  afterAll(async () => app?.close());

  const dial = (url = app.url) =>
    ScriptedDaemon.connect({ url, token: RUNNER_TOKEN, name: 'contender', instance: randomUUID() });

  test('of five that dial while the network has swallowed the first, one serves and the host hears of no offline', async () => {
    const proxy = await TcpProxy.listen(app.port);
    await dial(proxy.url);
    await app.online(RUNNER_ID);
    proxy.blackHole();
    const contenders = await Promise.all(Array.from({ length: 5 }, () => dial()));
    const closed: number[] = [];
    for (const one of contenders) void one.closed.then(({ code }) => closed.push(code));
    await until('four of them were sent away', () => closed.length >= 4);
    await app.online(RUNNER_ID);
    const left = contenders.find(({ socket }) => socket.readyState === socket.OPEN) as ScriptedDaemon;
    const handle = app.sandboxes.buildHandle('runner', runnerSandboxName(RUNNER_ID));
    const call = app.sandboxes.exec(handle, 'x', []);
    left.ok(await left.next('exec'), { output: base64('served'), code: 0 });
    expect((await settles('the exec', call)).text()).toBe('served');
    expect(closed).toEqual([4409, 4409, 4409, 4409]);
    await app.host.saw('heartbeat', app.host.count('heartbeat') + 2);
    const said = app.host.calls.filter((made) => made.startsWith('presence'));
    expect([said.at(-1), said.includes('presence offline')]).toEqual(['presence online', false]);
    await left.close();
    await app.host.saw('presence offline');
    await proxy.close();
  });
});
