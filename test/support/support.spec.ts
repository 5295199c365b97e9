import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { FieldDaemon } from './field-daemon.js';
import { alphabet } from './field-session.js';
import { resetSocket } from './reset-socket.js';
import { ScriptedDaemon } from './scripted-daemon.js';
import { ScriptedPlatform, type ScriptedPeer } from './scripted-platform.js';
import { TcpProxy } from './tcp-proxy.js';
import { settles, until } from './until.js';

describe('the field daemon', () => {
  async function connected(): Promise<{ platform: ScriptedPlatform; daemon: FieldDaemon; peer: ScriptedPeer }> {
    const platform = await ScriptedPlatform.listen();
    const peer = platform.peer('f');
    const daemon = await FieldDaemon.connect({
      url: platform.url,
      token: 't',
      name: 'f',
      pingEveryMs: 20,
      patienceMs: 5_000,
    });
    await (await peer).ask('create', { name: 'a' });
    return { platform, daemon, peer: await peer };
  }

  test('dials without an instance, answers id 0, and replays after spawn and attach, tagged and without offsets', async () => {
    const { platform, daemon, peer } = await connected();
    expect(new URL(peer.request.url as string, 'http://x').searchParams.has('instance')).toBe(false);
    expect(peer.request.headers.authorization).toBe('Bearer t');
    peer.send({ id: 0, op: 'list', name: null });
    expect(await peer.reply(0)).toEqual({ id: 0, ok: true, result: { names: ['a'] } });

    const spawned = await peer.ask('spawn', { name: 'a', cmd: 'out:x', args: ['hold', 'exit:3'], detachable: true });
    const id = spawned.result?.['session_id'] as string;
    const replayed = await peer.events.take('the replay');
    expect(replayed).toEqual({ stream: 'stdout', session_id: id, data: 'eA==', replay_for: spawned.id });
    daemon.beforeReplay = (session) => session.print('stderr', 'y');
    const attached = await peer.ask('attach', { name: 'a', session_id: id });
    daemon.sessions.get(id)?.release();
    await until('the exit came', () => peer.events.all.some((event) => event.stream === 'exit'));
    expect(peer.log.slice(peer.log.indexOf(attached))).toEqual([
      attached,
      { stream: 'stderr', session_id: id, data: 'eQ==' },
      { stream: 'stdout', session_id: id, data: 'eA==', replay_for: attached.id },
      { stream: 'stderr', session_id: id, data: 'eQ==', replay_for: attached.id },
      { stream: 'exit', session_id: id, code: 3 },
    ]);
    const { result } = await peer.ask('list_sessions', { name: 'a' });
    expect(result).toMatchObject({ sessions: [{ id, exit_code: 3, created_at: expect.stringMatching(/\.\d{9}Z$/) }] });
    await daemon.close();
    await platform.close();
  });

  test('reorders requests that are sent at once', async () => {
    const { platform, daemon, peer } = await connected();
    const ids = Array.from({ length: 100 }, () => peer.post('get', { name: 'a' }));
    await Promise.all(ids.map((id) => peer.reply(id)));
    const order = peer.replies.all.map((reply) => reply.id).filter((id) => ids.includes(id));
    expect(order).not.toEqual(ids);
    expect(order.toSorted((a, b) => a - b)).toEqual(ids);
    expect(daemon.unanswered).toBe(0);
    await daemon.close();
    await platform.close();
  });

  test('floods with the alphabet', async () => {
    const { platform, daemon, peer } = await connected();
    const spawned = await peer.ask('spawn', { name: 'a', cmd: 'flood:1000000', args: [] });
    const id = spawned.result?.['session_id'] as string;
    await peer.exit(id);
    expect(peer.output(id, 'stdout', spawned.id).equals(alphabet(0, 1_000_000))).toBe(true);
    await daemon.close();
    await platform.close();
  });
});

test('the scripted daemon sees the refusal and the close', async () => {
  const platform = await ScriptedPlatform.listen();
  platform.refuse = 401;
  expect(await ScriptedDaemon.refusal({ url: platform.url, name: 'x' })).toBe(401);
  platform.refuse = undefined;
  const daemon = await ScriptedDaemon.connect({ url: platform.url, name: 'x' });
  (await platform.peer('x')).socket.close(4404, 'gone');
  expect(await daemon.closed).toEqual({ code: 4404, reason: 'gone' });
  await platform.close();
});

test.each([['at rest'], ['ending']])(
  'a socket that is reset %s is closed, and told as reset to its peer',
  async (state) => {
    const server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const peer = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
    const told = once(peer.resume(), 'error') as Promise<[NodeJS.ErrnoException]>;
    const [socket] = await accepted;
    if (state === 'ending') socket.end();
    resetSocket(socket);
    await settles('the close', once(socket, 'close'), 5_000);
    peer.write('anybody there');
    expect((await settles('the error', told, 5_000))[0].code).toMatch(/^(ECONNRESET|EPIPE)$/);
    await new Promise((resolve) => server.close(resolve));
  },
);

describe('the proxy', () => {
  async function wired(
    bytesPerSecond?: number,
  ): Promise<{ proxy: TcpProxy; near: Socket; far: Socket; close: () => Promise<void> }> {
    const server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = await TcpProxy.listen((server.address() as AddressInfo).port);
    if (bytesPerSecond !== undefined) proxy.throttle(bytesPerSecond);
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const near = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
    const [far] = await accepted;
    for (const socket of [near, far]) socket.on('error', () => {});
    const close = async (): Promise<void> => {
      near.destroy();
      far.destroy();
      await proxy.close();
      await new Promise((resolve) => server.close(resolve));
    };
    return { proxy, near, far, close };
  }

  test('carries bytes both ways and each end of stream by itself', async () => {
    const { proxy, near, far, close } = await wired();
    expect(proxy.links).toBe(1);
    near.end('to');
    expect(String((await once(far, 'data'))[0])).toBe('to');
    far.end('fro');
    expect(String((await once(near, 'data'))[0])).toBe('fro');
    await until('the link is gone', () => proxy.links === 0);
    await close();
  });

  test('cuts with a reset', async () => {
    const { proxy, near, far, close } = await wired();
    const errors = Promise.all([once(near, 'error'), once(far, 'error')]);
    proxy.cut();
    expect((await settles('both ends', errors)).map(([error]) => (error as NodeJS.ErrnoException).code)).toEqual([
      'ECONNRESET',
      'ECONNRESET',
    ]);
    await close();
  });

  test('swallows without closing, and lets later connections through', async () => {
    const { proxy, near, far, close } = await wired();
    let heard = 0;
    far.on('data', (data: Buffer) => (heard += data.byteLength));
    near.write('before');
    await until('it was heard', () => heard === 6);
    proxy.blackHole();
    await new Promise((resolve) => near.write(Buffer.alloc(10_000_000), resolve));
    expect([heard, near.destroyed, far.destroyed]).toEqual([6, false, false]);
    await close();
  });

  test('throttles', async () => {
    const { near, far, close } = await wired(1_000_000);
    const started = performance.now();
    near.end(Buffer.alloc(400_000));
    let heard = 0;
    for await (const data of far) heard += (data as Buffer).byteLength;
    expect(heard).toBe(400_000);
    expect(performance.now() - started).toBeGreaterThan(250);
    await close();
  });
});
