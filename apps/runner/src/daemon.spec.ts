import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { WebSocketServer } from 'ws';
import type { Keeper } from '#libs/process';
import type { Clock } from '#libs/protocol';
import { Daemon } from './daemon.js';
import { createLog } from './log.js';

/** Redials happen as soon as no socket is open any more; what the daemon wanted to wait for is written down. */
class HastyClock implements Clock {
  readonly waits: number[] = [];
  time = 0;
  now = (): number => this.time;

  after(ms: number, fn: () => void): () => void {
    const pause = ms % 1_000 === 500;
    if (!pause) return () => {};
    this.waits.push(ms);
    const whenClosed = (): void => void setImmediate(() => (open === 0 ? fn() : whenClosed()));
    whenClosed();
    return () => {};
  }
}

let http: Server;
let open: number;
let mostOpen: number;
let dials: number;
let answer: (dial: number, request: IncomingMessage, socket: Duplex, head: Buffer) => void;
const websockets = new WebSocketServer({ noServer: true });
const accept = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  then: (ws: { close(code: number): void; terminate(): void }) => void,
): void => websockets.handleUpgrade(request, socket, head, then);
const refuse = (socket: Duplex, status: number): void =>
  void socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);

beforeEach(async () => {
  [open, mostOpen, dials] = [0, 0, 0];
  http = createServer();
  http.on('connection', (socket: Socket) => {
    mostOpen = Math.max(mostOpen, ++open);
    socket.on('close', () => open--).on('error', () => {});
  });
  http.on('upgrade', (request, socket, head) => answer(++dials, request, socket, head));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
});

afterEach(() => {
  http.close();
  http.closeAllConnections();
});

async function run(): Promise<{ code: number; waits: number[]; log: string[]; closed: number }> {
  let closed = 0;
  const keeper = { onTail: () => () => {}, close: () => Promise.resolve(void closed++) } as unknown as Keeper;
  const clock = new HastyClock();
  const log: string[] = [];
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  // The jitter is half a second everywhere, which tells these waits from all others.
  const context = { keeper, clock, random: () => 0.5 / 15, log: createLog('info', (line) => log.push(line)) };
  const code = await new Daemon({ url, token: 't', query: { name: 'n' } }, context).run();
  return {
    code,
    waits: clock.waits,
    log: log.map((line) => line.split(' ').slice(1).join(' ').replaceAll(url, 'URL')),
    closed,
  };
}

describe('Daemon', () => {
  test('one socket at a time and one wait per loss, however the platform ends it', async () => {
    answer = (dial, request, socket, head) => {
      if (dial === 1) refuse(socket, 503);
      else if (dial === 2) (socket as Socket).resetAndDestroy();
      else if (dial === 3) accept(request, socket, head, (ws) => ws.terminate());
      else if (dial === 4) accept(request, socket, head, (ws) => ws.close(1011));
      else if (dial === 5) accept(request, socket, head, (ws) => ws.close(4409));
      else if (dial === 6) refuse(socket, 409);
      else refuse(socket, 401);
    };
    const { code, waits, log, closed } = await run();
    expect([code, closed, dials, mostOpen]).toEqual([3, 1, 7, 1]);
    expect(waits).toEqual([14_500, 29_500, 29_500, 29_500, 29_500, 29_500]);
    expect(log).toEqual([
      'warn the platform at URL answered 503 retry_in_ms=14500\n',
      'warn cannot reach the platform at URL: ECONNRESET retry_in_ms=29500\n',
      'info connected url=URL\n',
      'warn lost the link to the platform at URL (1006) retry_in_ms=29500\n',
      'info connected url=URL\n',
      'warn lost the link to the platform at URL (1011) retry_in_ms=29500\n',
      'info connected url=URL\n',
      'warn another daemon with the same token is connected to the platform, or was until a moment ago retry_in_ms=29500\n',
      'warn the platform at URL has another daemon connected as this runner (409) retry_in_ms=29500\n',
      'error the platform at URL refused the token (401): take a fresh token for this runner from the platform\n',
    ]);
  });

  test('a runner that was deleted stays away', async () => {
    answer = (_dial, request, socket, head) => accept(request, socket, head, (ws) => ws.close(4404));
    const { code, log, dials: dialled } = { ...(await run()), dials };
    expect([code, dialled, log.at(-1)]).toEqual([3, 1, 'error the platform at URL has deleted this runner\n']);
  });
});
