import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocketServer } from 'ws';
import { dial, type DialLimits, type LinkEnd } from './dial.js';

const LIMITS: DialLimits = { handshakeMs: 10_000, refusalBytes: 4_096, refusalMs: 10_000 };
const TOKEN = 'tok-3f9';
const never = new AbortController().signal;
const closers: (() => void)[] = [];

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function listening(server: Server | TcpServer): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function target(url: string): Parameters<typeof dial>[0] {
  return { url, token: TOKEN, query: { name: 'a b&c', root: '/r', instance: 'i-1' } };
}

function refusing(status: number, body: string, headers: Record<string, string> = {}): Server {
  return createServer((_request, response) => response.writeHead(status, headers).end(body));
}

const unexpected = (): never => {
  throw new Error('the link must not open');
};

describe('dial', () => {
  test('introduces the daemon in the query and the token in a header', async () => {
    const server = createServer();
    const sockets = new WebSocketServer({ server });
    const seen = new Promise<{ url: string; authorization: string; extensions: unknown }>((resolve) => {
      sockets.on('connection', (socket, request) => {
        const { authorization = '' } = request.headers;
        resolve({ url: request.url ?? '', authorization, extensions: request.headers['sec-websocket-extensions'] });
        socket.close(4404, 'gone');
      });
    });
    let opened = 0;
    const end = await dial(target(`${await listening(server)}/base/`), () => opened++, never);
    expect(await seen).toEqual({
      url: '/base/api/runners/ws?name=a+b%26c&root=%2Fr&instance=i-1',
      authorization: `Bearer ${TOKEN}`,
      extensions: undefined,
    });
    expect(opened).toBe(1);
    expect(end).toEqual({ kind: 'closed', code: 4404, reason: 'gone' });
  });

  test('counts the bytes that the transport received', async () => {
    const server = createServer();
    new WebSocketServer({ server }).on('connection', (socket) =>
      socket.send('x'.repeat(1_000), () => socket.close(1001)),
    );
    let transport = { bytesRead: 0 };
    await dial(target(await listening(server)), (_ws, opened) => (transport = opened), never);
    expect(transport.bytesRead).toBeGreaterThan(1_000);
  });

  test('loses no frame that comes together with the answer to the upgrade', async () => {
    const server = createServer();
    new WebSocketServer({ server }).on('connection', (socket) => {
      socket.send('first');
      socket.close(1001);
    });
    const frames: string[] = [];
    await dial(
      target(await listening(server)),
      (ws) => ws.on('message', (data: Buffer) => frames.push(data.toString())),
      never,
    );
    expect(frames).toEqual(['first']);
  });

  test.each<[title: string, server: Server, end: LinkEnd]>([
    ['400', refusing(400, 'bad\nsecond'), { kind: 'refused', status: 400, says: 'bad' }],
    ['401', refusing(401, 'no'), { kind: 'refused', status: 401, says: 'no' }],
    ['403', refusing(403, ''), { kind: 'refused', status: 403, says: '' }],
    ['404', refusing(404, 'a'.repeat(9_000)), { kind: 'refused', status: 404, says: 'a'.repeat(200) }],
    ['409', refusing(409, 'busy'), { kind: 'refused', status: 409, says: 'busy' }],
    ['503', refusing(503, '\u001b[2Jdown'), { kind: 'refused', status: 503, says: '?[2Jdown' }],
    ['200', refusing(200, 'hello'), { kind: 'refused', status: 200, says: 'hello' }],
    ['an echo of the token', refusing(401, `bad ${TOKEN}!`), { kind: 'refused', status: 401, says: 'bad [token]!' }],
    [
      'an echo of the token across the cut',
      refusing(401, `${'a'.repeat(196)}${TOKEN}`),
      { kind: 'refused', status: 401, says: `${'a'.repeat(196)}[tok` },
    ],
  ])('tells a refusal from a loss: %s', async (_title, server, end) => {
    expect(await dial(target(await listening(server)), unexpected, never, LIMITS)).toEqual(end);
  });

  test('follows no redirect', async () => {
    let reached = 0;
    const elsewhere = await listening(createServer(() => reached++));
    const url = await listening(refusing(302, 'there', { Location: elsewhere }));
    expect(await dial(target(url), unexpected, never, LIMITS)).toEqual({ kind: 'refused', status: 302, says: 'there' });
    expect(reached).toBe(0);
  });

  test('does not wait for a body that does not end', async () => {
    const url = await listening(createServer((_request, response) => response.writeHead(503).write('slow')));
    const end = await dial(target(url), unexpected, never, { ...LIMITS, refusalMs: 20 });
    expect(end).toEqual({ kind: 'refused', status: 503, says: 'slow' });
  });

  test('does not read a body without end', async () => {
    let closed!: () => void;
    const cut = new Promise<void>((resolve) => (closed = resolve));
    const server = createServer((_request, response) => {
      response.writeHead(404).on('close', closed);
      const more = (): boolean => response.write('x'.repeat(65_536));
      response.on('drain', more);
      more();
    });
    const end = await dial(target(await listening(server)), unexpected, never, LIMITS);
    expect(end).toEqual({ kind: 'refused', status: 404, says: 'x'.repeat(200) });
    await cut;
  });

  test('nobody listens', async () => {
    const server = createTcpServer();
    const url = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await dial(target(url), unexpected, never)).toEqual({ kind: 'unreachable', problem: 'ECONNREFUSED' });
  });

  test('a peer that cuts the connection, which is an error and a close, ends the dial once', async () => {
    const url = await listening(createTcpServer((socket) => socket.resetAndDestroy()));
    expect(await dial(target(url), unexpected, never)).toEqual({ kind: 'unreachable', problem: 'ECONNRESET' });
  });

  test('a peer that is not HTTP', async () => {
    const url = await listening(createTcpServer((socket) => socket.end('220 smtp\r\n')));
    const end = await dial(target(url), unexpected, never);
    expect(end).toEqual({ kind: 'unreachable', problem: 'HPE_INVALID_CONSTANT' });
  });

  test('a peer that says nothing, and one that trickles, are given up on', async () => {
    const silent = await listening(createTcpServer(() => {}));
    const trickling = await listening(
      createTcpServer((socket) => {
        const timer = setInterval(() => socket.write('H'), 5);
        socket.on('close', () => clearInterval(timer)).on('error', () => {});
      }),
    );
    const limits = { ...LIMITS, handshakeMs: 60 };
    expect(await dial(target(silent), unexpected, never, limits)).toEqual({
      kind: 'unreachable',
      problem: 'no answer in time',
    });
    expect((await dial(target(trickling), unexpected, never, limits)).kind).toBe('unreachable');
  });

  test('accepted and cut', async () => {
    const server = createServer();
    new WebSocketServer({ server }).on('connection', (socket) => socket.terminate());
    let opened = 0;
    const end = await dial(target(await listening(server)), () => opened++, never);
    expect([opened, end]).toEqual([1, { kind: 'closed', code: 1006, reason: '' }]);
  });

  test('a protocol error after the open ends the link once', async () => {
    const server = createServer();
    server.on('upgrade', (request, socket) => {
      const accept = new WebSocketServer({ noServer: true });
      accept.handleUpgrade(request, socket, Buffer.alloc(0), () => socket.write(Buffer.from([0xff, 0xff, 0, 0])));
    });
    const end = await dial(target(await listening(server)), () => {}, never);
    expect(end).toEqual({ kind: 'closed', code: 1006, reason: '' });
  });

  test('an abort ends a dial, before and during', async () => {
    const url = await listening(createTcpServer(() => {}));
    expect(await dial(target(url), unexpected, AbortSignal.abort())).toEqual({
      kind: 'unreachable',
      problem: 'stopped',
    });
    const stop = new AbortController();
    const dialled = dial(target(url), unexpected, stop.signal);
    setImmediate(() => stop.abort());
    expect(await dialled).toEqual({ kind: 'unreachable', problem: 'stopped' });
  });
});
