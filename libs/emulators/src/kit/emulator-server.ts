import { setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { Refusal, type Answer } from './answer.js';
import { callOf, type Call, type WritableCall } from './call.js';
import { CallLog } from './call-log.js';
import { Exchange } from './exchange.js';
import { Faults } from './faults.js';
import { HttpOutput, NoOutput } from './output.js';
import { pause } from './pause.js';
import { Routes, type Handler, type UpgradeHandler } from './routes.js';
import { Upgrade, UpgradeAbandoned, type RawUpgrade } from './upgrade.js';

/** Bytes of one WebSocket message that a client may send. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** Real services bound the head at about this; Node's own limit would answer 431 before a route could answer 414. */
const MAX_HEAD_BYTES = 1024 * 1024;

export interface EmulatorServerOptions {
  /** Lower-case names of the headers that carry a credential: they are never recorded. @default ['authorization'] */
  readonly credentialHeaders?: readonly string[];
  /** The answer where no route fits. @default 404 with `{"error":"not found"}` */
  readonly notFound?: (call: Call) => Answer;
}

/**
 * An HTTP and WebSocket server on a free port of 127.0.0.1, for one emulator. Order for each request: it is recorded,
 * faults without effect answer it, the guards look at it, its route serves it, faults with effect hide the answer.
 *
 * An emulator has it from `startServer`, with an `EmulatorRoot` for its directories and processes, adds guards and routes,
 * and closes first the server, which waits for the handlers, then the root. So a handler that waits for anything but the
 * client has to heed `closing`; `pause` and `Exchange.onGone` do.
 */
export class EmulatorServer {
  readonly calls = new CallLog();
  readonly faults = new Faults();
  readonly #http: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: MAX_MESSAGE_BYTES });
  readonly #connections = new Set<Duplex>();
  readonly #closing = new AbortController();
  readonly #routes = new Routes();
  readonly #guards: ((call: Call, request: IncomingMessage) => void | Promise<void>)[] = [];
  readonly #serving = new Set<Promise<void>>();
  readonly #credentials: ReadonlySet<string>;
  #url = '';
  #closed: Promise<void> | undefined;

  private constructor(private readonly options: EmulatorServerOptions) {
    this.#credentials = new Set([...(options.credentialHeaders ?? ['authorization']), 'cookie']);
    // Each handler that waits listens to it.
    setMaxListeners(0, this.closing);
    this.#http = createServer({ maxHeaderSize: MAX_HEAD_BYTES, keepAliveTimeout: 60_000 });
    this.#http.on('connection', (socket: Socket) => {
      socket.setNoDelay(true);
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
    this.#http.on('request', (request, response) => this.#track(this.#serve(request, response)));
    this.#http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => {});
      this.#track(this.#upgrade({ request, socket, head }));
    });
  }

  static async start(options: EmulatorServerOptions = {}): Promise<EmulatorServer> {
    const server = new EmulatorServer(options);
    await new Promise<void>((resolve, reject) => {
      server.#http.once('error', reject);
      server.#http.listen(0, '127.0.0.1', resolve);
    });
    server.#url = `http://127.0.0.1:${(server.#http.address() as AddressInfo).port}`;
    return server;
  }

  /** `http://127.0.0.1:<port>`, also when nobody listens there any more. */
  get url(): string {
    return this.#url;
  }

  /** Aborted when `close` is called. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Looks at each request, also at those that no route fits; throws a `Refusal` to answer it. In order of adding. */
  guard(guard: (call: Call, request: IncomingMessage) => void | Promise<void>): void {
    this.#guards.push(guard);
  }

  route(method: string, pattern: string, handler: Handler): void {
    this.#routes.add(method, pattern, handler);
  }

  upgrade(pattern: string, handler: UpgradeHandler): void {
    this.#routes.addUpgrade(pattern, handler);
  }

  /** Cuts every connection and waits for every handler. Any number of times. */
  async close(): Promise<void> {
    this.#closed ??= this.#close();
    await this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    this.calls.close();
    const closed = new Promise((resolve) => this.#http.close(resolve));
    for (const socket of this.#connections) socket.destroy();
    for (const client of this.#sockets.clients) client.terminate();
    this.#sockets.close();
    await closed;
    await Promise.all(this.#serving);
  }

  #track(serving: Promise<void>): void {
    const tracked = serving
      .catch((error: unknown) => {
        if (!this.closing.aborted) process.emitWarning(error as Error);
      })
      .finally(() => this.#serving.delete(tracked));
    this.#serving.add(tracked);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = callOf(request, this.#credentials, false);
    this.calls.add(call);
    const fault = this.faults.take(call);
    const hidden = fault.answer !== undefined || fault.reset === true;
    const output = new HttpOutput(response, fault, this.closing);
    if (!hidden || fault.effect === 'applied') {
      const found = this.#routes.find(call.method, call.path);
      const target = hidden ? new NoOutput() : output;
      const exchange = new Exchange(call, found?.params ?? {}, request, target, this.closing);
      await this.#answer(exchange, request, found?.handler);
      exchange.drain();
      if (!hidden) return;
    }
    if (fault.reset) {
      await pause(fault.delayMs ?? 0, this.closing);
      delete call.status;
      request.socket.resetAndDestroy();
      return;
    }
    const exchange = new Exchange(call, {}, request, output, this.closing);
    await exchange.reply(fault.answer!);
    exchange.drain();
  }

  async #answer(exchange: Exchange, request: IncomingMessage, handler: Handler | undefined): Promise<void> {
    try {
      await this.#pass(exchange.call, request);
      if (!handler) throw new Refusal(this.#notFound(exchange.call));
      await handler(exchange);
    } catch (error) {
      // A client that went away in the middle of its body.
      if (this.closing.aborted || (request.destroyed && !request.complete)) return;
      if (exchange.answered) {
        exchange.cut();
        throw error;
      }
      const own = { status: 500, json: { error: `emulator: ${String(error)}` } };
      await exchange.reply(error instanceof Refusal ? error.answer : own);
    }
  }

  async #upgrade(raw: RawUpgrade): Promise<void> {
    const call = callOf(raw.request, this.#credentials, true);
    this.calls.add(call);
    const fault = this.faults.take(call);
    const found = this.#routes.findUpgrade(call.path);
    const upgrade = new Upgrade(call, found?.params ?? {}, raw, this.#sockets, fault, this.closing);
    try {
      if (fault.effect !== 'applied') await upgrade.fail();
      await this.#pass(call, raw.request);
      if (!found) throw new Refusal(this.#notFound(call));
      await found.handler(upgrade);
    } catch (error) {
      if (error instanceof Refusal) upgrade.refuse(error.answer);
      else if (!(error instanceof UpgradeAbandoned) && !this.closing.aborted) {
        upgrade.refuse({ status: 500, json: { error: `emulator: ${String(error)}` } });
        throw error;
      }
    }
  }

  async #pass(call: WritableCall, request: IncomingMessage): Promise<void> {
    for (const guard of this.#guards) await guard(call, request);
  }

  #notFound(call: Call): Answer {
    return this.options.notFound?.(call) ?? { status: 404, json: { error: 'not found' } };
  }
}
