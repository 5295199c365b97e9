import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';
import type { Socket } from './socket.js';
import { bindSocket } from './ws-socket.js';

type Event = readonly ['text', string] | readonly ['binary'] | readonly ['pong'] | readonly ['closed', number, string];

/** Everything that was reported, and a way to wait for the next report. */
function recorder() {
  const events: Event[] = [];
  let wake = (): void => {};
  const push = (event: Event): void => {
    events.push(event);
    wake();
  };
  return {
    events,
    listener: {
      text: (text: string) => push(['text', text]),
      binary: () => push(['binary']),
      pong: () => push(['pong']),
      closed: (code: number, reason: string) => push(['closed', code, reason]),
    },
    until: async (count: number): Promise<Event[]> => {
      while (events.length < count) await new Promise<void>((resolve) => (wake = resolve));
      return events;
    },
  };
}

let server: WebSocketServer;
beforeAll(async () => {
  server = new WebSocketServer({ port: 0, host: '127.0.0.1', maxPayload: 1 << 20 });
  await once(server, 'listening');
});
afterAll(() => {
  for (const client of server.clients) client.terminate();
  server.close();
});

async function connect() {
  const far = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const connection = once(server, 'connection') as Promise<[WebSocket, { socket: { bytesRead: number } }]>;
  await once(far, 'open');
  const [ws, { socket: transport }] = await connection;
  return { far, ws, transport };
}

async function bound() {
  const { far, ws, transport } = await connect();
  const record = recorder();
  const socket: Socket = bindSocket(ws, transport, () => record.listener);
  return { far, ws, socket, ...record };
}

/** On a connection of its own: what was sent on loopback before it has arrived. */
async function roundTrip(): Promise<void> {
  const { far, socket, until } = await bound();
  socket.ping();
  await until(1);
  far.terminate();
}

describe('bindSocket over ws', () => {
  test('reports text, binary and pong in order, then one close', async () => {
    const { far, socket, until } = await bound();
    far.send('one é');
    far.send(Buffer.from([1, 2]));
    far.send('two');
    await until(3);
    socket.ping();
    await until(4);
    far.close(1001, 'bye');
    expect(await until(5)).toEqual([['text', 'one é'], ['binary'], ['text', 'two'], ['pong'], ['closed', 1001, 'bye']]);
  });

  test('bytesRead grows with what is received', async () => {
    const { far, socket, until } = await bound();
    const before = socket.bytesRead;
    far.send('x'.repeat(1000));
    await until(1);
    expect(socket.bytesRead - before).toBe(1000 + 8);
    far.terminate();
    await until(2);
  });

  test('a broken frame is one close, no error', async () => {
    const { far, until } = await bound();
    const closed = once(far, 'close');
    far.send('x'.repeat(2 << 20));
    expect((await closed)[0]).toBe(1009);
    expect(await until(1)).toEqual([['closed', 1006, '']]);
  });

  test('terminate is reported as 1006 and nothing follows', async () => {
    const { far, socket, until } = await bound();
    socket.terminate();
    socket.terminate();
    socket.send('late', () => {
      throw new Error('flushed after the close');
    });
    socket.ping();
    socket.close(1001, '');
    socket.pause();
    socket.resume();
    await once(far, 'close');
    expect(await until(1)).toEqual([['closed', 1006, '']]);
  });

  test('send says when the frame has left, and counts it until then', async () => {
    const { far, socket, until } = await bound();
    const arrived = once(far, 'message');
    await new Promise<void>((resolve) => socket.send('x'.repeat(100_000), resolve));
    expect(socket.bufferedAmount).toBe(0);
    expect(String((await arrived)[0])).toHaveLength(100_000);
    far.terminate();
    await until(1);
  });

  test('a peer that does not read makes bufferedAmount grow', async () => {
    const { far, socket, until } = await bound();
    far.pause();
    const text = 'x'.repeat(1 << 20);
    for (let i = 0; i < 32; i++) socket.send(text);
    expect(socket.bufferedAmount).toBeGreaterThan(1 << 20);
    far.terminate();
    await until(1);
  });

  test('a paused socket reports nothing; its close still completes', async () => {
    const { far, socket, events, until } = await bound();
    socket.pause();
    await new Promise((resolve) => far.send('held back', resolve));
    await roundTrip();
    expect(events).toEqual([]);
    socket.close(4409, 'duplicate');
    const [code, reason] = (await once(far, 'close')) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([4409, 'duplicate']);
    expect((await until(2)).at(-1)).toEqual(['closed', 4409, 'duplicate']);
  });

  test('a socket that has much to read lets others have their turn after 64 KiB', async () => {
    const { far, events, until } = await bound();
    const frames = Array.from({ length: 40 }, (_, index) => `${index} `.padEnd(65_536, 'x'));
    const perTurn = [0];
    let counting = true;
    const turn = (): void => {
      perTurn.push(events.length);
      if (counting) setImmediate(turn);
    };
    setImmediate(turn);
    for (const frame of frames) far.send(frame);
    expect(await until(frames.length)).toEqual(frames.map((frame) => ['text', frame]));
    counting = false;
    const most = Math.max(...perTurn.slice(1).map((count, index) => count - (perTurn[index] as number)));
    // One more chunk of 64 KiB may have been read before the pause.
    expect(most).toBeLessThanOrEqual(3);
    far.terminate();
  });

  test('a turn that ends does not resume a socket that was paused meanwhile', async () => {
    const { far, socket, events, until } = await bound();
    far.send('x'.repeat(65_536));
    await until(1);
    socket.pause();
    await new Promise((resolve) => far.send('held back', resolve));
    await roundTrip();
    expect(events).toHaveLength(1);
    socket.resume();
    expect((await until(2))[1]).toEqual(['text', 'held back']);
    far.terminate();
  });

  test.each([
    ['exactly 123 bytes', 'r'.repeat(123), 'r'.repeat(123)],
    ['one too many', 'r'.repeat(124), 'r'.repeat(123)],
    ['a character across the limit', `${'r'.repeat(122)}é`, 'r'.repeat(122)],
    ['a long character across the limit', `${'r'.repeat(120)}😀😀`, 'r'.repeat(120)],
    ['a character up to the limit', `${'r'.repeat(119)}😀tail`, `${'r'.repeat(119)}😀`],
    ['a lone surrogate', '\ud800', '\ufffd'],
  ])('close reason: %s', async (_title, reason, received) => {
    const { far, socket } = await bound();
    socket.close(4404, reason);
    const [code, arrived] = (await once(far, 'close')) as [number, Buffer];
    expect([code, arrived.toString()]).toEqual([4404, received]);
  });

  test('a WebSocket that is closing already is reported closed once', async () => {
    const { ws, transport, far } = await connect();
    ws.close(1000, 'before');
    const { listener, until, events } = recorder();
    const socket = bindSocket(ws, transport, () => listener);
    socket.send('dropped');
    await once(far, 'close');
    expect(await until(1)).toEqual([['closed', 1000, 'before']]);
    expect(events).toHaveLength(1);
  });

  test('a WebSocket that is closed already is reported closed, after bindSocket returned', async () => {
    const { ws, transport } = await connect();
    ws.terminate();
    await once(ws, 'close');
    const { listener, until, events } = recorder();
    bindSocket(ws, transport, () => listener);
    expect(events).toEqual([]);
    expect(await until(1)).toEqual([['closed', 1006, '']]);
  });
});
