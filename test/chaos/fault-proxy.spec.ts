import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { FaultProxy } from './fault-proxy.js';

const server = createServer();
let proxy: FaultProxy;
let near: Socket;
let far: Socket;
let heard: { up: string; down: string };

beforeEach(async () => {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  proxy = await FaultProxy.listen();
  proxy.target = (server.address() as AddressInfo).port;
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  near = connect(proxy.port, '127.0.0.1');
  [far] = await accepted;
  heard = { up: '', down: '' };
  for (const socket of [near, far]) socket.on('error', () => {});
  far.on('data', (data) => (heard.up += String(data)));
  near.on('data', (data) => (heard.down += String(data)));
});

afterEach(async () => {
  near.destroy();
  far.destroy();
  await proxy.close();
  server.close();
});

test('what was stalled one way comes in its order when it is released; the other way moves on', async () => {
  proxy.stall('up');
  near.write('a');
  far.write('x');
  await until('the other way moved', () => heard.down === 'x');
  near.write('b');
  expect(heard.up).toBe('');
  proxy.release('up');
  await until('it was released', () => heard.up === 'ab');
});

test('cuts in the middle of a piece, at the byte that was given', async () => {
  proxy.cut(5);
  near.write('0123456789');
  await until('both ends are closed', () => near.destroyed && far.destroyed);
  // A reset may overtake what was sent before it.
  expect('01234'.startsWith(heard.up)).toBe(true);
});

test('an end that comes while the way is stalled comes when it is released', async () => {
  proxy.stall('up');
  near.end('bye');
  await once(near, 'finish');
  expect(far.readableEnded).toBe(false);
  proxy.release('up');
  await until('the end came', () => far.readableEnded);
  expect(heard.up).toBe('bye');
});

test('resets new connections while it refuses', async () => {
  proxy.refuse(true);
  const refused = connect(proxy.port, '127.0.0.1');
  const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNRESET');
});
