import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { Refusal, redirectTo } from './answer.js';
import type { Channel } from './channel.js';
import { EmulatorServer } from './emulator-server.js';

/** More than the buffers of a connection take. */
const FLOOD = 32 * 1024 * 1024;

let server: EmulatorServer;
let effects: string[];

beforeEach(async () => {
  server = await EmulatorServer.start();
  effects = [];
  server.route('POST', '/things/:name', async (exchange) => {
    effects.push(exchange.params['name']!);
    await exchange.json();
    await exchange.reply({ status: 201, json: { name: exchange.params['name'] } });
  });
  server.route('GET', '/lines', async (exchange) => {
    await exchange.begin(200, { 'content-type': 'application/x-ndjson' });
    for (const line of ['1\n', '2\n', '3\n']) await exchange.write(line);
    await exchange.end();
  });
  server.route('PUT', '/bytes/*', async (exchange) => {
    let bytes = 0;
    for await (const chunk of exchange.chunks()) bytes += chunk.length;
    await exchange.reply({ status: 200, json: { bytes, rest: exchange.params['*'] } });
  });
  server.upgrade('/echo', async (upgrade) => {
    effects.push('echo');
    const channel = await upgrade.accept({ 'x-kind': 'echo' });
    channel.onMessage(({ data, binary }) => void answer(channel, binary ? data : data.toString()));
  });
});

afterEach(async () => await server.close());

async function answer(channel: Channel, message: Buffer | string): Promise<void> {
  if (message === 'bye') await channel.close(1000);
  else await channel.send(message);
}

async function post(path: string, body: unknown = {}): Promise<Response> {
  return await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer secret' },
    body: JSON.stringify(body),
    redirect: 'manual',
  });
}

/** Opens a WebSocket, sends, and tells everything that came until its end. */
async function talk(messages: (Buffer | string)[]): Promise<{ received: string[]; end: number | string }> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/echo`);
  const received: string[] = [];
  socket.on('message', (data, binary) => received.push(`${binary ? 'b' : 't'}:${(data as Buffer).toString()}`));
  socket.on('open', () => messages.forEach((message) => socket.send(message)));
  return await new Promise((resolve) => {
    socket.on('unexpected-response', (_, response) => resolve({ received, end: `HTTP ${response.statusCode}` }));
    socket.on('error', () => {});
    socket.on('close', (end) => resolve({ received, end }));
  });
}

describe('requests', () => {
  test('a route answers with its parameters decoded', async () => {
    const response = await post('/things/a%20b');
    expect([response.status, await response.json()]).toEqual([201, { name: 'a b' }]);
  });

  test('a path that no route fits is a 404', async () => {
    expect((await post('/things/a/b')).status).toBe(404);
  });

  test('a call is recorded with all but the credential', async () => {
    await post('/things/a?x=1&x=2', { y: 3 });
    const [call] = server.calls.all;
    expect(call).toMatchObject({ method: 'POST', path: '/things/a', json: { y: 3 }, bodyBytes: 7, status: 201 });
    expect(call!.query.getAll('x')).toEqual(['1', '2']);
    expect([call!.credential, call!.upgrade, 'authorization' in call!.headers]).toEqual([true, false, false]);
    expect(JSON.stringify(server.calls.all)).not.toContain('secret');
  });

  test('arrived waits for calls that are still to come', async () => {
    const arrived = server.calls.arrived({ method: 'POST', path: '/things/:name' }, 2);
    await post('/things/a');
    await post('/things/b');
    expect((await arrived).map(({ path }) => path)).toEqual(['/things/a', '/things/b']);
  });

  test('a guard that refuses keeps the route from being run', async () => {
    server.guard((call) => {
      if (!call.query.has('key')) throw new Refusal({ status: 401, json: { error: 'no key' } });
    });
    expect([(await post('/things/a')).status, (await post('/things/b?key=1')).status]).toEqual([401, 201]);
    expect(effects).toEqual(['b']);
  });

  test('a client that has hung up is gone for who asks late', async () => {
    const immediate = () => new Promise((resolve) => setImmediate(resolve));
    const told = new Promise((resolve) => {
      server.route('GET', '/late', async (exchange) => {
        while (!exchange.gone) await immediate();
        await immediate();
        exchange.onGone(() => resolve('gone'));
        resolve('not told');
      });
    });
    const client = new AbortController();
    const answered = fetch(`${server.url}/late`, { signal: client.signal }).catch(() => 'no answer');
    await server.calls.arrived({ path: '/late' });
    client.abort();
    expect([await answered, await told]).toEqual(['no answer', 'gone']);
  });

  test('a body is taken as it arrives, and what nobody reads is drained', async () => {
    const body = Buffer.alloc(3_000_000, 1);
    const response = await fetch(`${server.url}/bytes/x/y`, { method: 'PUT', body });
    expect(await response.json()).toEqual({ bytes: 3_000_000, rest: 'x/y' });
    expect((await fetch(`${server.url}/none`, { method: 'PUT', body })).status).toBe(404);
  });
});

describe('a handler that fails', () => {
  test('before its answer is a 500', async () => {
    server.route('GET', '/broken', async () => await Promise.reject(new Error('no')));
    const response = await fetch(`${server.url}/broken`);
    expect([response.status, await response.json()]).toEqual([500, { error: 'emulator: Error: no' }]);
  });
});

describe('faults of requests', () => {
  test('an answer in the place of the effect', async () => {
    const fault = server.faults.add({ path: '/things/:name', answer: { status: 503, html: '<h1>no</h1>' } });
    const response = await post('/things/a');
    expect([response.status, await response.text()]).toEqual([503, '<h1>no</h1>']);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect([effects, fault.hits]).toEqual([[], 1]);
    expect((await post('/things/b')).status).toBe(201);
  });

  test('an answer that hides an effect', async () => {
    server.faults.add({ effect: 'applied', answer: { status: 500, text: 'oops' } });
    expect((await post('/things/a')).status).toBe(500);
    expect(effects).toEqual(['a']);
  });

  test('the nth request and as many after it as were asked for', async () => {
    server.faults.add({ method: 'POST', nth: 2, times: 2, answer: { status: 429 } });
    const statuses = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await post(`/things/${i}`)).status);
    expect(statuses).toEqual([201, 429, 429, 201]);
  });

  test.each([
    ['none', []],
    ['applied', ['a']],
  ] as const)('a reset, with the effect %s', async (effect, expected) => {
    server.faults.add({ reset: true, effect });
    await expect(post('/things/a')).rejects.toThrow('fetch failed');
    expect(effects).toEqual(expected);
    expect(server.calls.all[0]!.status).toBeUndefined();
  });

  test('a redirect', async () => {
    server.faults.add({ answer: redirectTo('https://elsewhere.example/x') });
    const response = await post('/things/a');
    expect([response.status, response.headers.get('location')]).toEqual([302, 'https://elsewhere.example/x']);
  });

  test('headers that never come', async () => {
    server.faults.add({ delayMs: Infinity });
    const answered = post('/things/a').then(
      () => 'answered',
      () => 'cut',
    );
    await server.calls.arrived({});
    await server.close();
    expect(await answered).toBe('cut');
    expect(effects).toEqual(['a']);
  });

  test('late headers', async () => {
    server.faults.add({ delayMs: 80 });
    const before = performance.now();
    expect((await post('/things/a')).status).toBe(201);
    expect(performance.now() - before).toBeGreaterThan(75);
  });

  test('a body that is cut off', async () => {
    server.faults.add({ truncateAt: 5 });
    const response = await post('/things/a');
    expect(response.status).toBe(201);
    await expect(response.text()).rejects.toThrow('terminated');
  });

  test('a stream whose chunks are changed, dropped and cut', async () => {
    server.faults.add({
      rewrite: (step, index) => {
        if (index === 0 && 'data' in step) return [{ data: Buffer.from('one\n'), binary: true }, step];
        return index === 1 ? [] : [{ close: 1006 }];
      },
    });
    const response = await fetch(`${server.url}/lines`);
    const reader = response.body!.getReader();
    const chunks: string[] = [];
    const read = async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        chunks.push(Buffer.from(next.value).toString());
      }
    };
    await expect(read()).rejects.toThrow('terminated');
    expect(chunks.join('')).toBe('one\n1\n');
  });
});

describe('WebSockets', () => {
  test('frames of both kinds go both ways', async () => {
    expect(await talk(['a', Buffer.from('b'), 'bye'])).toEqual({ received: ['t:a', 'b:b'], end: 1000 });
  });

  test('a call counts what came in messages', async () => {
    await talk(['ä', Buffer.from('b'), 'bye']);
    expect(server.calls.all.map(({ upgrade, bodyBytes }) => [upgrade, bodyBytes])).toEqual([[true, 6]]);
  });

  test.each([
    ['none', []],
    ['applied', ['echo']],
  ] as const)('a refused handshake, with the effect %s', async (effect, expected) => {
    server.faults.add({ upgrade: true, effect, answer: { status: 502, html: 'bad gateway' } });
    expect(await talk([])).toEqual({ received: [], end: 'HTTP 502' });
    expect(effects).toEqual(expected);
  });

  test('a handshake that is refused late, and one that is reset', async () => {
    server.faults.add({ upgrade: true, delayMs: 60, answer: { status: 503 } });
    const before = performance.now();
    expect(await talk([])).toEqual({ received: [], end: 'HTTP 503' });
    expect(performance.now() - before).toBeGreaterThan(55);
    server.faults.add({ upgrade: true, reset: true });
    expect(await talk([])).toEqual({ received: [], end: 1006 });
    expect(effects).toEqual([]);
  });

  test('an upgrade where no route is', async () => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/none`);
    const status = await new Promise((resolve) => {
      socket.on('error', () => {});
      socket.on('unexpected-response', (_, response) => resolve(response.statusCode));
    });
    expect(status).toBe(404);
  });

  test.each([[1011], [1000], [1006]])('a stream that ends with %d', async (close) => {
    server.faults.add({ rewrite: (step, index) => (index === 1 ? [{ close }] : [step]) });
    expect(await talk(['a', 'b', 'c'])).toEqual({ received: ['t:a'], end: close });
  });

  test('frames that wait keep their order', async () => {
    server.faults.add({ rewrite: (step, index) => (index === 0 ? [{ delayMs: 30 }, step] : [step]) });
    expect(await talk(['a', 'b', 'bye'])).toEqual({ received: ['t:a', 't:b'], end: 1000 });
  });

  test.each<[string, (channel: Channel) => unknown]>([
    ['was cut off', (channel) => channel.terminate()],
    ['ends with the server', () => void server.close()],
  ])('nothing waits to be sent where the connection %s', async (_, end) => {
    const opened = new Promise<Channel>((resolve) => {
      server.upgrade('/flood', async (upgrade) => resolve(await upgrade.accept()));
    });
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/flood`);
    socket.on('error', () => {});
    socket.once('open', () => socket.pause());
    const channel = await opened;
    await channel.send(Buffer.alloc(FLOOD));
    expect(channel.queuedBytes).toBeGreaterThanOrEqual(FLOOD / 2);
    end(channel);
    // Who waits for room would otherwise find, as often as it looks, that there is none and nothing to wait for.
    expect(channel.queuedBytes).toBe(0);
    await channel.room(0);
    socket.terminate();
  });

  test('a deaf server answers no ping', async () => {
    server.faults.add({ deaf: true });
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/echo`);
    let ponged = false;
    socket.on('pong', () => (ponged = true));
    await new Promise((resolve) => socket.once('open', resolve));
    socket.ping();
    socket.send('a');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await server.close();
    await closed;
    expect(ponged).toBe(false);
  });
});

describe('close', () => {
  test('is done twice, and nothing listens after it', async () => {
    const { url } = server;
    await Promise.all([server.close(), server.close()]);
    expect(server.url).toBe(url);
    const refused = await new Promise((resolve) => {
      connect(Number(new URL(url).port), '127.0.0.1').on('error', (error: NodeJS.ErrnoException) =>
        resolve(error.code),
      );
    });
    expect(refused).toBe('ECONNREFUSED');
  });

  test('who waits for calls learns of it', async () => {
    const arrived = server.calls.arrived({}).catch((error: Error) => error.message);
    await server.close();
    expect(await arrived).toBe('the emulator was closed before the calls had arrived');
  });
});
