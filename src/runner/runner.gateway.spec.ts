import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { Logger, Module, type INestApplication, type Type, type WebSocketAdapter } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { LocalRunnerHost } from './local-runner-host.js';
import { runnerSandboxName } from './names.js';
import { RunnerAuthenticator, type AuthenticatedRunner, type RunnerRefusal } from './runner-authenticator.js';
import { RunnerGateway } from './runner.gateway.js';
import { RunnerHost } from './runner-host.js';
import { RunnerModule } from './runner.module.js';
import type { RunnerModuleOptions } from './runner.options.js';
import { RunnerWsAdapter } from './runner-ws.adapter.js';

const ID = '0123abcd-4567-89ef-0123-456789abcdef';
const OTHER = 'fedcba98-7654-3210-fedc-ba9876543210';
const TOKEN = 'a-token-of-some-length';
const PATH = '/api/runners/ws';

const NOTHING = {
  connections: 0,
  pendingAuthentications: 0,
  refused: 0,
  registrations: 0,
  pendingRequests: 0,
  unsentRequests: 0,
  sessions: 0,
  queuedBytes: 0,
  maxQueuedBytes: 0,
  draining: false,
};

type Answer = AuthenticatedRunner | RunnerRefusal;

class ScriptedAuthenticator extends RunnerAuthenticator {
  answer: (request: IncomingMessage, bearer?: string) => Promise<Answer> = async () => ({ runnerId: ID, name: 'box' });
  override authenticate(request: IncomingMessage, bearer?: string): Promise<Answer> {
    return this.answer(request, bearer);
  }
}

/** Resolves a registered runner id by the order in which they come. */
class WatchedHost extends LocalRunnerHost {
  readonly events: string[] = [];
  #changed: (() => void)[] = [];

  override async presence(runnerId: string, state: 'online' | 'offline'): Promise<void> {
    this.events.push(`${state} ${runnerId}`);
    for (const resolve of this.#changed.splice(0)) resolve();
  }

  async until(event: string): Promise<void> {
    while (!this.events.includes(event)) await new Promise<void>((resolve) => this.#changed.push(resolve));
  }
}

/** What an adapter for socket.io looks like to a gateway. */
class ForeignAdapter implements WebSocketAdapter {
  create(): unknown {
    return new EventEmitter();
  }
  bindClientConnect(): void {}
  bindMessageHandlers(): void {}
  close(): void {}
  dispose(): void {}
}

const apps: INestApplication[] = [];
const clients: WebSocket[] = [];
type Adapter = Type<WsAdapter>;

async function startApp(module: Type, Adapter: Adapter = RunnerWsAdapter): Promise<INestApplication> {
  const testing = await Test.createTestingModule({ imports: [module] }).compile();
  const app = testing.createNestApplication({ logger: false });
  app.useWebSocketAdapter(new Adapter(app));
  await app.listen(0, '127.0.0.1');
  apps.push(app);
  return app;
}

function moduleWith(options: RunnerModuleOptions): Type {
  @Module({ imports: [RunnerModule.forRoot(options)] })
  class AppModule {}
  return AppModule;
}

function port(app: INestApplication): number {
  return ((app.getHttpServer() as Server).address() as AddressInfo).port;
}

function dial(app: INestApplication, path = `${PATH}?name=box`, protocols: string[] = [], token = TOKEN): WebSocket {
  const client = new WebSocket(`ws://127.0.0.1:${port(app)}${path}`, protocols, {
    headers: { Authorization: `Bearer ${token}` },
  });
  client.on('error', () => {});
  clients.push(client);
  return client;
}

/** The status and body of a refused dial. */
async function refusal(client: WebSocket): Promise<{ status: number | undefined; body: string; type?: string }> {
  const [, response] = (await once(client, 'unexpected-response')) as [unknown, IncomingMessage];
  let body = '';
  for await (const chunk of response) body += String(chunk);
  const type = response.headers['content-type'];
  return { status: response.statusCode, body, ...(type !== undefined && { type }) };
}

async function closeCode(client: WebSocket): Promise<number> {
  const [code] = (await once(client, 'close')) as [number];
  return code;
}

afterEach(async () => {
  jest.restoreAllMocks();
  for (const client of clients.splice(0)) client.terminate();
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

describe.each<[string, Adapter]>([
  ['the stock WsAdapter', WsAdapter],
  ['RunnerWsAdapter', RunnerWsAdapter],
])('the gateway on %s', (_, Adapter) => {
  async function startScripted(options: RunnerModuleOptions = {}): Promise<{
    app: INestApplication;
    host: WatchedHost;
    authenticator: ScriptedAuthenticator;
    gateway: RunnerGateway;
  }> {
    const module = moduleWith({ host: WatchedHost, authenticator: ScriptedAuthenticator, drainMs: 0, ...options });
    const app = await startApp(module, Adapter);
    return {
      app,
      host: app.get<WatchedHost>(RunnerHost),
      authenticator: app.get<ScriptedAuthenticator>(RunnerAuthenticator),
      gateway: app.get(RunnerGateway),
    };
  }

  test.each([400, 401, 403, 404, 409, 503] as const)('answers a refusal with %i before the upgrade', async (refuse) => {
    const { app, authenticator, gateway } = await startScripted();
    authenticator.answer = async () => ({ refuse, reason: 'because of <b>' });
    await expect(refusal(dial(app))).resolves.toEqual({
      status: refuse,
      body: 'because of <b>',
      type: 'text/plain; charset=utf-8',
    });
    expect(gateway.stats()).toEqual({ ...NOTHING, refused: 1 });
  });

  test.each<[string, () => Promise<Answer>]>([
    ['rejects', () => Promise.reject(new Error('secret'))],
    [
      'throws',
      () => {
        throw new Error('secret');
      },
    ],
    ['gives no UUID', async () => ({ runnerId: 'me', name: 'box' })],
    ['gives nothing', async () => undefined as unknown as Answer],
  ])('answers 503 when the authenticator %s', async (_case, answer) => {
    const { app, authenticator } = await startScripted();
    authenticator.answer = answer;
    const { status, body } = await refusal(dial(app));
    expect([status, body]).toEqual([503, 'authentication is not available']);
  });

  test('logs who comes and goes, and by which close code', async () => {
    const log = jest.spyOn(Logger.prototype, 'log').mockImplementation(() => {});
    const { app, host } = await startScripted();
    const client = dial(app);
    await Promise.all([once(client, 'open'), host.until(`online ${ID}`)]);
    client.close(4000);
    await host.until(`offline ${ID}`);
    const lines = log.mock.calls.map(([line]) => String(line)).filter((line) => line.startsWith(ID));
    expect(lines).toEqual([`${ID}: online as "box"`, `${ID}: disconnected with 4000`]);
  });

  test('hands over the bearer token alone', async () => {
    const { app, authenticator, host } = await startScripted();
    const seen: (string | undefined)[] = [];
    authenticator.answer = async (_request, bearer) => {
      seen.push(bearer);
      return { runnerId: ID, name: 'box' };
    };
    dial(app);
    await host.until(`online ${ID}`);
    expect(seen).toEqual([TOKEN]);
  });

  test('registers whom it admits, and takes it off when the socket closes', async () => {
    const { app, host, gateway } = await startScripted();
    const client = dial(app);
    await host.until(`online ${ID}`);
    expect(gateway.stats()).toEqual({ ...NOTHING, connections: 1, registrations: 1 });
    expect((await host.whereis(ID))?.runnerId).toBe(ID);
    client.close();
    await host.until(`offline ${ID}`);
    await expect(host.whereis(ID)).resolves.toBeUndefined();
    expect(gateway.stats()).toEqual({ ...NOTHING, registrations: 1 });
    host.events.length = 0;
    dial(app);
    await host.until(`online ${ID}`);
    expect(gateway.stats()).toEqual({ ...NOTHING, connections: 1, registrations: 2 });
  });

  test('keeps a frame that follows the handshake at once, however slow the authenticator is', async () => {
    const { app, authenticator, gateway } = await startScripted();
    let admit = (): void => {};
    const asked = new Promise<void>((resolve) => {
      authenticator.answer = () =>
        new Promise<Answer>((answer) => {
          admit = () => answer({ runnerId: ID, name: 'box' });
          resolve();
        });
    });
    const client = dial(app);
    client.once('open', () => client.send(Buffer.from([1, 2, 3]), { binary: true }));
    await asked;
    expect(gateway.stats().pendingAuthentications).toBe(1);
    admit();
    await expect(closeCode(client)).resolves.toBe(1003);
  });

  test('keeps a frame that comes in one piece with the request for the upgrade', async () => {
    const { app } = await startScripted();
    const { port: at } = (app.getHttpServer() as Server).address() as AddressInfo;
    const socket = connect(at, '127.0.0.1');
    const request =
      `GET ${PATH} HTTP/1.1\r\nHost: 127.0.0.1:${at}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
    // A binary frame of one byte, masked with zeros.
    socket.write(Buffer.concat([Buffer.from(request), Buffer.from([0x82, 0x81, 0, 0, 0, 0, 1])]));
    let said = Buffer.alloc(0);
    let close = -1;
    for await (const piece of socket) {
      said = Buffer.concat([said, piece as Buffer]);
      close = said.indexOf(0x88, said.indexOf('\r\n\r\n') + 4);
      if (close >= 0 && said.length >= close + 4) break;
    }
    expect(said.readUInt16BE(close + 2)).toBe(1003);
  });

  test('refuses dials beyond the limit of those that wait', async () => {
    const { app, authenticator } = await startScripted({ maxPendingAuthentications: 1 });
    let admit = (): void => {};
    const asked = new Promise<void>((resolve) => {
      authenticator.answer = () =>
        new Promise<Answer>((answer) => {
          admit = () => answer({ refuse: 403, reason: 'late' });
          resolve();
        });
    });
    const first = refusal(dial(app));
    await asked;
    await expect(refusal(dial(app))).resolves.toMatchObject({ status: 503, body: 'too many dials at once' });
    admit();
    await expect(first).resolves.toMatchObject({ status: 403, body: 'late' });
  });

  test('selects no sub-protocol', async () => {
    const { app } = await startScripted();
    const client = dial(app, undefined, ['sandbox.v2', 'other']);
    const [error] = (await once(client, 'error')) as [Error];
    expect(error.message).toBe('Server sent no subprotocol');
  });

  test('refuses a malformed offer of sub-protocols and goes on', async () => {
    const { app, host } = await startScripted();
    const socket = connect(port(app), '127.0.0.1');
    socket.write(
      `GET ${PATH}?name=box HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: a,,b\r\n\r\n',
    );
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
    dial(app);
    await host.until(`online ${ID}`);
  });

  test('closes with 1001 in a drain and refuses new dials with 503', async () => {
    const { app, host, gateway } = await startScripted();
    const client = dial(app);
    await host.until(`online ${ID}`);
    const code = closeCode(client);
    const drained = gateway.beforeApplicationShutdown();
    await expect(refusal(dial(app))).resolves.toMatchObject({ status: 503, body: 'the platform is shutting down' });
    await expect(code).resolves.toBe(1001);
    await drained;
    expect(gateway.stats()).toEqual({ ...NOTHING, refused: 1, registrations: 1, draining: true });
    expect(host.events).toEqual([`online ${ID}`, `offline ${ID}`]);
  });

  test('says in a drain what it waits for, and how long at most', async () => {
    const { app, host, gateway } = await startScripted({ drainMs: 20 });
    dial(app);
    await host.until(`online ${ID}`);
    const pending = (await host.whereis(ID))?.request('get', { name: runnerSandboxName(ID) });
    const log = jest.spyOn(Logger.prototype, 'log').mockImplementation(() => {});
    const [outcome] = await Promise.allSettled([pending, gateway.beforeApplicationShutdown()]);
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
    expect(log.mock.calls[0]).toEqual(['Shutting down: pending calls, 1, get up to 20 ms']);
  });

  test('refuses in a drain a dial that was waiting for the authenticator', async () => {
    const { app, authenticator, gateway } = await startScripted();
    let admit = (): void => {};
    const asked = new Promise<void>((resolve) => {
      authenticator.answer = () =>
        new Promise<Answer>((answer) => {
          admit = () => answer({ runnerId: ID, name: 'box' });
          resolve();
        });
    });
    const refused = refusal(dial(app));
    await asked;
    await gateway.beforeApplicationShutdown();
    admit();
    await expect(refused).resolves.toMatchObject({ status: 503 });
  });

  test('refuses with 503 a dial that comes when WebSockets are closed and HTTP is not yet', async () => {
    const app = await startApp(moduleWith({ tokens: `${ID}:${TOKEN}` }), Adapter);
    const server = app.getHttpServer() as Server;
    const accepted = once(server, 'connection');
    const socket = connect(port(app), '127.0.0.1');
    await accepted;
    const closed = app.close();
    while (server.listening) await new Promise((resolve) => setImmediate(resolve));
    const head = `Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer ${TOKEN}`;
    const key = `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}`;
    socket.write(`GET ${PATH}?name=box HTTP/1.1\r\n${head}\r\n${key}\r\n\r\n`);
    let answer = '';
    for await (const data of socket) answer += String(data);
    expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 503 Service Unavailable');
    await closed;
  });

  test('cuts off a peer that does not answer the closing frame', async () => {
    const { app, host, gateway } = await startScripted();
    const socket = connect(port(app), '127.0.0.1');
    socket.write(
      `GET ${PATH}?name=box HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    );
    socket.on('error', () => {}).resume();
    await host.until(`online ${ID}`);
    const cut = once(socket, 'close');
    await gateway.beforeApplicationShutdown();
    await cut;
    expect(gateway.stats().connections).toBe(0);
  });

  test('uses the host that the authenticator gives, for that connection alone', async () => {
    const { app, authenticator, host } = await startScripted();
    const own = new WatchedHost();
    authenticator.answer = async (request) =>
      request.url?.includes('other') ? { runnerId: OTHER, name: 'other', host: own } : { runnerId: ID, name: 'box' };
    dial(app, `${PATH}?name=other`);
    await own.until(`online ${OTHER}`);
    dial(app);
    await host.until(`online ${ID}`);
    expect((await host.online()).map(([id]) => id)).toEqual([ID]);
    expect((await own.online()).map(([id]) => id)).toEqual([OTHER]);
  });

  test('closes by itself when the app closes', async () => {
    const { app, host } = await startScripted();
    const client = dial(app);
    await host.until(`online ${ID}`);
    const code = closeCode(client);
    await app.close();
    await expect(code).resolves.toBe(1001);
  });
});

describe('RunnerModule', () => {
  test('serves two apps of one process on two paths', async () => {
    const hosts = [new WatchedHost(), new WatchedHost()] as const;
    const start = (i: 0 | 1): Promise<INestApplication> =>
      startApp(moduleWith({ path: `/ws/${i}`, host: { useValue: hosts[i] }, authenticator: ScriptedAuthenticator }));
    const [first, second] = await Promise.all([start(0), start(1)]);
    dial(first, '/ws/0?name=box');
    dial(second, '/ws/1?name=box');
    await Promise.all(hosts.map((host) => host.until(`online ${ID}`)));
    await expect(refusal(dial(first, '/ws/1?name=box'))).resolves.toMatchObject({ status: 404 });
    await expect(refusal(dial(second, PATH))).resolves.toMatchObject({ status: 404 });
  });

  test('refuses with the default authenticator who has no token', async () => {
    const app = await startApp(moduleWith({ tokens: `${ID}:${TOKEN}` }));
    await expect(refusal(dial(app, undefined, [], 'another-token-of-some-length'))).resolves.toMatchObject({
      status: 401,
      body: 'the token is not known',
    });
    dial(app);
    const host = app.get<LocalRunnerHost>(RunnerHost);
    expect(host).toBeInstanceOf(LocalRunnerHost);
  });

  test('takes a host that a test puts in its place', async () => {
    const own = new WatchedHost();
    const testing = await Test.createTestingModule({
      imports: [RunnerModule.forRoot({ authenticator: ScriptedAuthenticator })],
    })
      .overrideProvider(RunnerHost)
      .useValue(own)
      .compile();
    const app = testing.createNestApplication({ logger: false });
    app.useWebSocketAdapter(new RunnerWsAdapter(app));
    await app.listen(0, '127.0.0.1');
    apps.push(app);
    dial(app);
    await own.until(`online ${ID}`);
    expect((await own.online()).map(([id]) => id)).toEqual([ID]);
  });

  test('takes its settings from an async factory', async () => {
    @Module({
      imports: [
        RunnerModule.forRootAsync({
          inject: [{ token: 'nothing', optional: true }],
          useFactory: async () => ({ tokens: `${ID}:${TOKEN}`, drainMs: 0 }),
          host: WatchedHost,
        }),
      ],
    })
    class AppModule {}
    const app = await startApp(AppModule);
    dial(app);
    const host = app.get<WatchedHost>(RunnerHost);
    await host.until(`online ${ID}`);
    expect((await host.online()).map(([id]) => id)).toEqual([ID]);
  });

  test.each<[string, () => Type[] | object[]]>([
    ['twice', () => [RunnerModule.forRoot(), RunnerModule.forRoot({ path: '/other' })]],
    ['without forRoot', () => [RunnerModule]],
    ['with and without forRoot', () => [RunnerModule.forRoot(), RunnerModule]],
  ])('does not start when it is imported %s', async (_, imports) => {
    await expect(Test.createTestingModule({ imports: imports() as Type[] }).compile()).rejects.toThrow(
      'exactly once per application',
    );
  });

  test('does not start on an adapter for another protocol', async () => {
    const module = await Test.createTestingModule({ imports: [RunnerModule.forRoot()] }).compile();
    const app = module.createNestApplication({ logger: false });
    app.useWebSocketAdapter(new ForeignAdapter());
    await expect(app.init()).rejects.toThrow('app.useWebSocketAdapter(new RunnerWsAdapter(app)) before app.listen()');
  });

  test.each([
    ['a factory that is missing', () => RunnerModule.forRootAsync({} as never), '"useFactory" is missing'],
    [
      'a host that is none',
      () => RunnerModule.forRoot({ host: null as never }),
      'RunnerModule: host: expected a class',
    ],
    [
      'an authenticator that is none',
      () => RunnerModule.forRoot({ authenticator: {} as never }),
      'RunnerModule: authenticator: expected a class',
    ],
  ])('refuses %s', (_, register, message) => {
    expect(register).toThrow(message);
  });

  test('does not start with a bad setting', async () => {
    await expect(
      Test.createTestingModule({ imports: [RunnerModule.forRoot({ drainMs: -1 })] }).compile(),
    ).rejects.toThrow('drainMs must not be less than 0 (given as an option)');
  });
});
