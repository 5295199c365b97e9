import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DaemonConnection, PROTOCOL_LIMITS } from '#libs/protocol';
import { connectPeer, ManualClock, ScriptedPeer, turns } from '#libs/testing';
import { runnerSandboxName } from '../../src/runner/index.js';
import { sha256 } from '../support/collect.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { refusal } from '../support/errors.js';
import { TestApp } from '../support/nest-app.js';
import { RUNNER_ID } from '../support/runners.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { settles, until } from '../support/until.js';

const FRAME_BYTES = 40_000_000;
/** 1 Mbit/s. */
const BYTES_PER_SECOND = 125_000;
const SECONDS = FRAME_BYTES / BYTES_PER_SECOND;

describe('a frame of 40 MB over 1 Mbit/s, which takes 320 s', () => {
  /** What the socket sees of it: bytes, and neither a frame nor a pong. */
  async function trickle(peer: ScriptedPeer, clock: ManualClock): Promise<void> {
    for (let second = 0; second < SECONDS; second += 1) {
      await clock.pass(1_000);
      peer.bytesRead += BYTES_PER_SECOND;
    }
  }

  test('is no silence to the platform: the exec that it answers gets all of it', async () => {
    const { clock, peer, connection } = connectPeer({ instance: 'i-1' });
    connection.start();
    await turns();
    const exec = connection.request('exec', { name: 'box', cmd: 'x', args: [] }, { timeoutMs: null });
    const output = Buffer.alloc((FRAME_BYTES / 4) * 3, 'a');
    await trickle(peer, clock);
    expect(peer.events.filter((event) => event !== 'ping')).toEqual([]);
    // One every 20 s, and no answer to any.
    expect(peer.events).toHaveLength(SECONDS / 20);
    peer.ok(peer.last, { output: output.toString('base64'), code: 3 });
    const reply = await exec;
    expect([output.equals(reply.output), reply.code]).toEqual([true, 3]);
    // And then nothing more: that is silence.
    await clock.pass(PROTOCOL_LIMITS.silenceMs + 6_000);
    expect(peer.events.at(-1)).toBe('terminate');
    await connection.settled;
    expect(clock.pending).toBe(0);
  });

  test('is no silence to the daemon', async () => {
    const clock = new ManualClock();
    const peer = new ScriptedPeer();
    const connection = new DaemonConnection(peer, () => Promise.resolve({ result: {} }), { clock });
    peer.listener = connection;
    await trickle(peer, clock);
    expect([peer.events.filter((event) => event !== 'ping'), connection.signal.aborted]).toEqual([[], false]);
    await clock.pass(PROTOCOL_LIMITS.silenceMs + 6_000);
    expect([peer.events.at(-1), connection.signal.aborted]).toEqual(['terminate', true]);
    expect(clock.pending).toBe(0);
  });
});

describe('the same on a smaller scale, with a real daemon behind a slow link', () => {
  /** 4 MB of output are 5.3 MB on the wire: nearly 9 s, six times the silence that is allowed. */
  const OUTPUT_BYTES = 4_000_000;
  const SLOW_BYTES_PER_SECOND = 600_000;
  const SILENCE_MS = 1_500;

  let app: TestApp;
  let proxy: TcpProxy;
  let daemon: DaemonProcess;

  beforeEach(async () => {
    app = await TestApp.start({ runners: { pingIntervalMs: 400, silenceMs: SILENCE_MS, heartbeatIntervalMs: 200 } });
    proxy = await TcpProxy.listen(app.port);
    proxy.throttle(SLOW_BYTES_PER_SECOND);
    daemon = await DaemonProcess.launch({ url: proxy.url });
    await app.online(RUNNER_ID);
  });

  afterEach(async () => {
    await proxy?.close();
    await daemon?.dispose();
    await app?.close();
  });

  const bigExec = async () => {
    const handle = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
    return app.sandboxes.exec(handle, 'bash', ['-c', `head -c ${OUTPUT_BYTES} /dev/zero; exit 4`]);
  };

  test('nobody is declared dead, and every byte arrives', async () => {
    const startedAt = performance.now();
    const { output, exitCode } = await bigExec();
    const tookMs = performance.now() - startedAt;
    expect([sha256(output), exitCode]).toEqual([sha256(Buffer.alloc(OUTPUT_BYTES)), 4]);
    expect(tookMs).toBeGreaterThan(3 * SILENCE_MS);
    expect([app.host.links.length, app.host.count('unregister'), proxy.links]).toEqual([1, 0, 1]);
  }, 60_000);

  test('but when the link swallows the rest of the frame, the caller is told in time', async () => {
    const call = refusal(bigExec());
    const link = await until('the link is there', () => app.host.links[0]);
    await until('the command runs', async () => (await app.sandboxes.listAllNames('runner')).length === 1);
    expect(link.runnerId).toBe(RUNNER_ID);
    // In the middle of the frame, as far as one can tell from outside.
    await until('some of it has been sent', () => proxy.forwardedBytes > 1_000_000, { withinMs: 30_000 });
    proxy.blackHole();
    const swallowedAt = performance.now();
    expect(await settles('the exec', call)).toEqual({
      code: 'unavailable',
      detail: 'runner_disconnected',
      effect: 'unknown',
    });
    expect(performance.now() - swallowedAt).toBeLessThan(3 * SILENCE_MS + 2_000);
  }, 60_000);
});
